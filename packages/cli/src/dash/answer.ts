import type { ServerResponse } from "node:http";

/** The reason why a request is refused. */
export interface Refusal {
	readonly status: 400 | 401 | 403 | 404 | 415;
	readonly code: string;
	readonly message: string;
}

/** Answers with JSON. */
export function answerJson(
	response: ServerResponse,
	body: unknown,
	status = 200,
): void {
	response.writeHead(status, { "content-type": "application/json" });
	response.end(JSON.stringify(body));
}
