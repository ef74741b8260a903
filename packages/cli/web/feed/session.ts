import { get, post } from "./requests.ts";

/** Opens the session with the token of the link; a browser that has it already needs none. */
export async function openSession(): Promise<"open" | "closed"> {
	const [, token] = /^#token=([0-9a-f]+)$/.exec(location.hash) ?? [];
	// The token is no part of the history, and not there to be copied.
	if (token !== undefined) history.replaceState(null, "", "#/workers");
	try {
		// Asked first whether it has one, a new browser would show an error in its console.
		await (token === undefined
			? get("/api/session")
			: post("/api/session", { token }));
		return "open";
	} catch {
		return "closed";
	}
}
