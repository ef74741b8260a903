import {
	createServer,
	type IncomingMessage,
	type Server,
	type ServerResponse,
} from "node:http";
import { text } from "node:stream/consumers";
import { type Pool, QueueError, ToolError } from "@snakepit/core";
import type { Tools } from "./gen/tools.ts";

const MAX_BYTES = 1_000_000;
const MAX_TEXTS = 256;
const TIMEOUT_MS = 30_000;

/** What the client did wrong. */
class BadRequest extends Error {
	readonly status: number;

	constructor(status: number, message: string) {
		super(message);
		this.status = status;
	}
}

/**
 * Answers `POST /embeddings` with `{ "input": ["a text"] }` by `{ "embeddings": [[0.1]] }`, and `GET /work` by what the
 * model has done.
 */
export function embeddingServer(pool: Pool<Tools>): Server {
	return createServer((request, response) => {
		const gone = new AbortController();
		response.on("close", () => gone.abort());
		answer(pool, request, gone.signal).then(
			(body) => send(response, 200, body),
			(error: Error) =>
				send(response, statusOf(error), { error: messageOf(error) }),
		);
	});
}

async function answer(
	pool: Pool<Tools>,
	request: IncomingMessage,
	signal: AbortSignal,
): Promise<unknown> {
	const asked = `${request.method} ${request.url}`;
	if (asked === "GET /work") return await pool.execute("work_done");
	if (asked !== "POST /embeddings")
		throw new BadRequest(404, `There is no ${asked}.`);
	const texts = textsOf(await bodyOf(request));
	// A call for each text: they run together, with those of other requests.
	const embeddings = await Promise.all(
		texts.map((each) =>
			pool.execute("embed", [each], { signal, timeoutMs: TIMEOUT_MS }),
		),
	);
	return { embeddings };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
	const length = Number(request.headers["content-length"] ?? Number.NaN);
	if (Number.isNaN(length))
		throw new BadRequest(411, "The request has no content-length.");
	if (length > MAX_BYTES)
		throw new BadRequest(
			413,
			`The body has ${length} bytes, and ${MAX_BYTES} are the most.`,
		);
	return await text(request);
}

function textsOf(body: string): readonly string[] {
	let input: unknown;
	try {
		input = JSON.parse(body)?.input;
	} catch {
		throw new BadRequest(400, "The body is not JSON.");
	}
	if (!Array.isArray(input) || !input.every((each) => typeof each === "string"))
		throw new BadRequest(400, '"input" must be a list of texts.');
	if (input.length > MAX_TEXTS)
		throw new BadRequest(
			400,
			`"input" has ${input.length} texts, and ${MAX_TEXTS} are the most of one request.`,
		);
	return input;
}

function statusOf(error: Error): number {
	if (error instanceof BadRequest) return error.status;
	if (error instanceof ToolError) return 422;
	return error instanceof QueueError ? 503 : 500;
}

function messageOf(error: Error): string {
	return error instanceof ToolError
		? (error.remote?.message ?? error.message)
		: error.message;
}

function send(response: ServerResponse, status: number, body: unknown): void {
	response.writeHead(status, { "content-type": "application/json" });
	response.end(JSON.stringify(body));
}
