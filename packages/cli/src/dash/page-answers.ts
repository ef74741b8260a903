import { readdirSync, readFileSync } from "node:fs";
import type {
	IncomingHttpHeaders,
	IncomingMessage,
	ServerResponse,
} from "node:http";
import { extname, join } from "node:path";
import { type Refusal, readObject } from "@snakepit/control/server";

/** The page loads nothing from elsewhere, sends nothing elsewhere, cannot be framed, and never runs inline scripts or styles. */
const HEADERS: Readonly<Record<string, string>> = {
	"content-security-policy":
		"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
	"cross-origin-resource-policy": "same-origin",
	"cross-origin-opener-policy": "same-origin",
	// What is transformed is compressed, and a stream of events then waits for more.
	"cache-control": "no-store, no-transform",
};

export function setPageHeaders(response: ServerResponse): void {
	for (const [name, value] of Object.entries(HEADERS))
		response.setHeader(name, value);
}

/** One file of the page. */
interface PageFile {
	readonly type: string;
	readonly body: Uint8Array;
}

/** The files of the page by their path below the page's own. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const TYPES: Readonly<Record<string, string>> = {
	".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
};

/** Reads the page that the build made. Files of other types are not served. */
export function readPage(directory: string): PageFiles {
	const files = readdirSync(directory).flatMap((name) => {
		const type = TYPES[extname(name)];
		if (type === undefined) return [];
		const path = name === "index.html" ? "/" : `/${name}`;
		return [
			[path, { type, body: readFileSync(join(directory, name)) }],
		] as const;
	});
	return new Map(files);
}

/** Answers with a file of the page, if the request is for one: GET with it, HEAD without its body, and others not at all. */
export function answeredWithFile(
	files: PageFiles,
	method: string,
	path: string,
	response: ServerResponse,
): boolean {
	const file = files.get(path);
	if (file === undefined) return false;
	if (!isRead(method)) {
		response.setHeader("allow", "GET, HEAD");
		refuse(response, METHOD_NOT_ALLOWED);
		return true;
	}
	response.setHeader("content-type", file.type);
	response.setHeader("content-length", file.body.byteLength);
	response.end(method === "HEAD" ? undefined : file.body);
	return true;
}

function isRead(method: string): boolean {
	return method === "GET" || method === "HEAD";
}

export const METHOD_NOT_ALLOWED: Refusal = {
	status: 405,
	code: "METHOD_NOT_ALLOWED",
	message: "The header Allow has the methods that this address takes.",
};

/** Answers with JSON. */
export function answerJson(
	response: ServerResponse,
	body: unknown,
	status = 200,
): void {
	response.writeHead(status, { "content-type": "application/json" });
	response.end(JSON.stringify(body));
}

export function refuse(
	response: ServerResponse,
	{ status, code, message }: Refusal,
): void {
	answerJson(response, { error: { code, message } }, status);
}

/**
 * Refuses a request from a page of another origin, such as a form. Not for the page itself, because any site may link
 * to it.
 *
 * @param origins from which the page itself may come.
 */
export function foreignOrigin(
	method: string,
	headers: IncomingHttpHeaders,
	origins: readonly string[],
): Refusal | undefined {
	const { origin } = headers;
	const site = headers["sec-fetch-site"];
	const isForeign =
		(origin !== undefined && !origins.includes(origin)) ||
		(!isRead(method) && origin === undefined) ||
		(site !== undefined && site !== "same-origin" && site !== "none");
	if (isForeign)
		return {
			status: 403,
			code: "FOREIGN_ORIGIN",
			message: "Only the dashboard's own page may send this request.",
		};
	if (!isRead(method) && !isJson(headers))
		return {
			status: 415,
			code: "NOT_JSON",
			message:
				"A request that changes something must have the content-type application/json.",
		};
	return undefined;
}

function isJson(headers: IncomingHttpHeaders): boolean {
	return headers["content-type"] === "application/json";
}

/** The largest body of a request: the limit of a run's own server. */
export const BODY_BYTES: number = 1 << 20;

/** Reads the fields of a request. A framework may have read its body before, and left what it has parsed. */
export async function readFields(
	request: IncomingMessage & { readonly body?: unknown },
): ReturnType<typeof readObject> {
	const { body, headers } = request;
	const isRead = request.readableEnded && headers["content-length"] !== "0";
	if (!isRead) return await readObject(request, BODY_BYTES);
	if (isPlainObject(body)) return { kind: "object", fields: body };
	return {
		kind: "refused",
		refusal: {
			status: 400,
			code: "INVALID_REQUEST",
			message:
				"The body of the request was read before the dashboard got it, and is no JSON object. Mount the dashboard before what reads bodies.",
		},
	};
}

function isPlainObject(
	value: unknown,
): value is Readonly<Record<string, unknown>> {
	return (
		typeof value === "object" &&
		value !== null &&
		Object.getPrototypeOf(value) === Object.prototype
	);
}
