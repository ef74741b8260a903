import { get, keepKey, post } from "./requests.ts";

/** Opens the session with the token of the link; a browser that already has the session needs no token. */
export async function openSession(): Promise<"open" | "closed"> {
	const [, token] = /^#token=([0-9a-f]+)$/.exec(location.hash) ?? [];
	// The token must not stay in the browser's history or in the address bar.
	if (token !== undefined) history.replaceState(null, "", "#/workers");
	try {
		// A check for an existing session would show an error in the console of a new browser.
		if (token === undefined) await get("/api/session");
		else keepKey(await post("/api/session", { token }));
		return "open";
	} catch {
		return "closed";
	}
}
