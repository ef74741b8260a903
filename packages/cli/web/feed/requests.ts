import { EventSource } from "eventsource";
import type { Session } from "../model/page-state.ts";

/** Pages of this origin alone can read it: a cookie is sent to the other ports of this host, too. */
const KEY = "snakepit-key";

/** Keeps the key of a session that was opened; a session that was open before has none to keep. */
function keepKey(opened: { readonly key: string } | undefined): void {
	if (opened !== undefined) localStorage.setItem(KEY, opened.key);
}

function withKey(headers: Readonly<Record<string, string>> = {}) {
	return { ...headers, "x-snakepit-key": localStorage.getItem(KEY) ?? "" };
}

/** Follows a stream of events. The browser's own `EventSource` cannot send the key. */
export function eventSource(path: string): EventSource {
	return new EventSource(path, {
		fetch: (url, init) =>
			fetch(url, { ...init, headers: withKey(init.headers) }),
	});
}

interface RequestFailure {
	readonly code: string;
	readonly message: string;
	readonly remote?: { readonly traceback?: string };
}

/** The error that the server answered with. */
export class RequestError extends Error {
	readonly code: string;
	/** If the tool of a call failed: the error that it raised. */
	readonly traceback: string | undefined;

	constructor(fields: RequestFailure) {
		super(fields.message);
		this.code = fields.code;
		this.traceback = fields.remote?.traceback;
	}
}

/** @throws RequestError */
export async function get<Answer>(path: string): Promise<Answer> {
	return (await answerOf(fetch(path, { headers: withKey() }))) as Answer;
}

/** @throws RequestError */
export async function post<Answer>(
	path: string,
	body: unknown,
	signal?: AbortSignal,
): Promise<Answer> {
	const request = fetch(path, {
		method: "POST",
		headers: withKey({ "content-type": "application/json" }),
		body: JSON.stringify(body),
		...(signal && { signal }),
	});
	return (await answerOf(request)) as Answer;
}

/** The address of a request about one run, relative to the page: a server may have it at a path of its own. */
export function runPath(runId: string, ...parts: readonly string[]): string {
	return ["api/runs", ...[runId, ...parts].map(encodeURIComponent)].join("/");
}

async function answerOf(request: Promise<Response>): Promise<unknown> {
	let response: Response;
	try {
		response = await request;
	} catch (error) {
		if (error instanceof DOMException) throw error;
		throw new RequestError({
			code: "CUT",
			message: "The server of this page does not answer.",
		});
	}
	if (response.status === 204) return undefined;
	const answer: unknown = await response.json().catch(() => undefined);
	// A login that has ended may answer with a page of its own.
	if (typeof answer !== "object" || answer === null)
		throw new RequestError({
			code: "NO_JSON",
			message: `The server of this page answers with something else (status ${response.status}). If you have to log in, do that, and load the page again.`,
		});
	if (!response.ok)
		throw new RequestError((answer as { error: RequestFailure }).error);
	return answer;
}

/** Opens the session with the token of the link; a browser that already has the session needs no token. */
export async function openSession(): Promise<Session> {
	const [, token] = /^#token=([0-9a-f]+)$/.exec(location.hash) ?? [];
	// The token must not stay in the browser's history or in the address bar.
	if (token !== undefined) history.replaceState(null, "", "#/workers");
	try {
		if (token !== undefined) {
			keepKey(await post("api/session", { token }));
			return { kind: "open", servedBy: "command" };
		}
		// A check for an existing session would show an error in the console of a new browser.
		const { servedBy = "command" } =
			(await get<{ servedBy?: "program" } | undefined>("api/session")) ?? {};
		return { kind: "open", servedBy };
	} catch (error) {
		return { kind: "closed", message: (error as RequestError).message };
	}
}
