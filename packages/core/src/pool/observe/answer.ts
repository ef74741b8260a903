/** What a handler of this program answers, whichever server asks it. */
export interface Answer {
	readonly status: number;
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string;
}

/** What can be read at an address. */
export interface Content {
	readonly status: number;
	readonly contentType: string;
	readonly body: string;
}

/** What is asked now is true now: no proxy keeps it. */
const FRESH = "no-store";
const READS: readonly (string | undefined)[] = ["GET", "HEAD"];

/**
 * The one rule of all handlers: GET reads, HEAD has the same answer without its body, and every other method is 405 with
 * `Allow`.
 */
export function answerTo(
	method: string | undefined,
	read: () => Content,
): Answer {
	if (!READS.includes(method))
		return { status: 405, headers: { allow: READS.join(", ") }, body: "" };
	const { status, contentType, body } = read();
	return {
		status,
		headers: {
			"content-type": contentType,
			"content-length": String(Buffer.byteLength(body)),
			"cache-control": FRESH,
		},
		body: method === "HEAD" ? "" : body,
	};
}

/** A `ServerResponse` of node:http, as Express has it, too. */
export interface NodeResponse {
	writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
	end(text: string): unknown;
}

/** A reply of Fastify. */
export interface FastifyReplyLike {
	code(status: number): unknown;
	header(name: string, value: string): unknown;
	send(body: unknown): unknown;
}

export function sendNode(
	response: NodeResponse,
	{ status, headers, body }: Answer,
): unknown {
	response.writeHead(status, headers);
	return response.end(body);
}

export function sendFastify(
	reply: FastifyReplyLike,
	{ status, headers, body }: Answer,
): unknown {
	reply.code(status);
	for (const [name, value] of Object.entries(headers))
		reply.header(name, value);
	return reply.send(body);
}

/** For servers of the web standard. */
export function toResponse({ status, headers, body }: Answer): Response {
	// Without a body it has none, rather than an empty one.
	return new Response(body === "" ? null : body, { status, headers });
}
