import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Refusal } from "./answer.ts";

/** Refuses a request of another site's page that uses that site's name for this address (DNS rebinding). */
export function foreignHost(
	{ host = "" }: IncomingHttpHeaders,
	port: number,
): Refusal | undefined {
	const names = [`127.0.0.1:${port}`, `localhost:${port}`];
	if (names.includes(host)) return undefined;
	return {
		status: 403,
		code: "FOREIGN_HOST",
		message: `This dashboard is at ${names[0]}, not at ${JSON.stringify(host.slice(0, 100))}.`,
	};
}

/**
 * Refuses a request from a page of another origin, such as a form. Not for the page itself, because any site may link
 * to it.
 */
export function foreignOrigin(
	method: string,
	headers: IncomingHttpHeaders,
): Refusal | undefined {
	const { host, origin } = headers;
	const site = headers["sec-fetch-site"];
	const isForeign =
		(origin !== undefined && origin !== `http://${host}`) ||
		(method !== "GET" && origin === undefined) ||
		(site !== undefined && site !== "same-origin" && site !== "none");
	if (isForeign)
		return {
			status: 403,
			code: "FOREIGN_ORIGIN",
			message: "Only the dashboard's own page may send this request.",
		};
	if (method !== "GET" && headers["content-type"] !== "application/json")
		return {
			status: 415,
			code: "NOT_JSON",
			message:
				"A request that changes something must have the content-type application/json.",
		};
	return undefined;
}

/** Decides who may see the page: the browser that opens the link first. */
export class Session {
	/** Opens the session once. */
	readonly token: string = randomBytes(32).toString("hex");
	readonly #secret = randomBytes(32).toString("hex");
	readonly #cookie: string;
	#state: "new" | "open" = "new";

	/** @param port is in the cookie's name: cookies of one host are shared by all its ports. */
	constructor(port: number) {
		this.#cookie = `snakepit_${port}`;
	}

	/** Returns the `Set-Cookie` header; `undefined` for a wrong token, and for one that was used. */
	open(token: unknown): string | undefined {
		if (typeof token !== "string" || !isSame(token, this.token)) return;
		if (this.#state === "open") return;
		this.#state = "open";
		return `${this.#cookie}=${this.#secret}; HttpOnly; SameSite=Strict; Path=/`;
	}

	/** Whether a request has the session's cookie. */
	includes({ cookie = "" }: IncomingHttpHeaders): boolean {
		const wanted = `${this.#cookie}=`;
		const given = cookie
			.split(";")
			.map((pair) => pair.trim())
			.find((pair) => pair.startsWith(wanted));
		return (
			given !== undefined && isSame(given.slice(wanted.length), this.#secret)
		);
	}
}

/** In constant time. */
function isSame(given: string, right: string): boolean {
	const digest = (text: string): Buffer =>
		createHash("sha256").update(text).digest();
	return timingSafeEqual(digest(given), digest(right));
}
