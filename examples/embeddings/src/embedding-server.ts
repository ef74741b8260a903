import {
	createServer,
	type IncomingMessage,
	type Server,
	type ServerResponse,
} from "node:http";
import { json } from "node:stream/consumers";
import { type Pool, QueueError, ToolError } from "@snakepit/core";
import type { Tools } from "./gen/tools.ts";

const TIMEOUT_MS = 30_000;

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
	if (request.url === "/work") return await pool.execute("work_done");
	const { input: texts } = (await json(request)) as { input: string[] };
	// A call for each text: they run together, with those of other requests.
	const embeddings = await Promise.all(
		texts.map((each) =>
			pool.execute("embed", [each], { signal, timeoutMs: TIMEOUT_MS }),
		),
	);
	return { embeddings };
}

function statusOf(error: Error): number {
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
