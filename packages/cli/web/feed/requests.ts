/** The error that the server answered with. */
export class RequestError extends Error {
	readonly code: string;
	/** If the tool of a call failed: the error that it raised. */
	readonly traceback: string | undefined;

	constructor(fields: {
		readonly code: string;
		readonly message: string;
		readonly remote?: { readonly traceback?: string };
	}) {
		super(fields.message);
		this.code = fields.code;
		this.traceback = fields.remote?.traceback;
	}
}

/** @throws RequestError */
export async function get<Answer>(path: string): Promise<Answer> {
	return (await answerOf(fetch(path))) as Answer;
}

/** @throws RequestError */
export async function post<Answer>(
	path: string,
	body: unknown,
	signal?: AbortSignal,
): Promise<Answer> {
	const request = fetch(path, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify(body),
		...(signal && { signal }),
	});
	return (await answerOf(request)) as Answer;
}

/** The address of a request about one run. */
export function runPath(runId: string, ...parts: readonly string[]): string {
	return ["/api/runs", runId, ...parts.map(encodeURIComponent)].join("/");
}

async function answerOf(request: Promise<Response>): Promise<unknown> {
	let response: Response;
	try {
		response = await request;
	} catch (error) {
		if (error instanceof DOMException) throw error;
		throw new RequestError({
			code: "CUT",
			message: "The process of `snakepit dash` does not answer.",
		});
	}
	if (response.status === 204) return undefined;
	const answer = await response.json();
	if (!response.ok) throw new RequestError(answer.error);
	return answer;
}
