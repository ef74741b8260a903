import type { ServerResponse } from "node:http";

/** Answers with JSON. */
export function answerJson(
	response: ServerResponse,
	body: unknown,
	status = 200,
): void {
	response.writeHead(status, { "content-type": "application/json" });
	response.end(JSON.stringify(body));
}
