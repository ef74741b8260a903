import { get, post } from "./requests.ts";

/** Opens the session with the token of the link, unless this browser has it already. */
export async function openSession(): Promise<"open" | "closed"> {
	const [, token] = /^#token=([0-9a-f]+)$/.exec(location.hash) ?? [];
	// The token is no part of the history, and not there to be copied.
	if (token !== undefined) history.replaceState(null, "", "#/workers");
	try {
		await get("/api/session");
		return "open";
	} catch {
		if (token === undefined) return "closed";
	}
	try {
		await post("/api/session", { token });
		return "open";
	} catch {
		return "closed";
	}
}
