import { randomBytes } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isSameSecret, type Refusal } from "@snakepit/control/server";

/** The names of this machine for itself. A port of another machine may be forwarded here, as `ssh -L` does. */
const LOOPBACK = /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/;

/** Refuses a request of another site's page that uses that site's name for this address (DNS rebinding). */
export function foreignHost({
	host = "",
}: IncomingHttpHeaders): Refusal | undefined {
	if (LOOPBACK.test(host)) return undefined;
	return {
		status: 403,
		code: "FOREIGN_HOST",
		message: `This dashboard is at 127.0.0.1 or localhost, not at ${JSON.stringify(host.slice(0, 100))}.`,
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

/** The header in which the page sends the key of its session. */
export const KEY_HEADER = "x-snakepit-key";

/**
 * Decides who may see the page: the browser that opens the link first.
 *
 * A browser sends a cookie to every port of its host, so another server on this machine may get it. The page therefore
 * keeps a key as well, which only pages of its own origin can read, and sends it with each request.
 */
export class Session {
	/** Opens the session once. */
	readonly token: string = randomBytes(32).toString("hex");
	/** What the page keeps. */
	readonly key: string = randomBytes(32).toString("hex");
	readonly #secret = randomBytes(32).toString("hex");
	readonly #cookie: string;
	#state: "new" | "open" = "new";

	/** @param port is in the cookie's name: cookies of one host are shared by all its ports. */
	constructor(port: number) {
		this.#cookie = `snakepit_${port}`;
	}

	/** Returns the `Set-Cookie` header; `undefined` for a wrong token, and for one that was used. */
	open(token: unknown): string | undefined {
		if (typeof token !== "string" || !isSameSecret(token, this.token)) return;
		if (this.#state === "open") return;
		this.#state = "open";
		return `${this.#cookie}=${this.#secret}; HttpOnly; SameSite=Strict; Path=/`;
	}

	/** Whether a request has the session's cookie and its key. */
	includes(headers: IncomingHttpHeaders): boolean {
		const wanted = `${this.#cookie}=`;
		const cookie = (headers.cookie ?? "")
			.split(";")
			.map((pair) => pair.trim())
			.find((pair) => pair.startsWith(wanted));
		const key = headers[KEY_HEADER];
		return (
			cookie !== undefined &&
			isSameSecret(cookie.slice(wanted.length), this.#secret) &&
			typeof key === "string" &&
			isSameSecret(key, this.key)
		);
	}
}
