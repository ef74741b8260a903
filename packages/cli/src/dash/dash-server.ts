import { randomBytes } from "node:crypto";
import {
	createServer,
	type IncomingHttpHeaders,
	type IncomingMessage,
	type Server,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import {
	isSameSecret,
	type Refusal,
	readObject,
} from "@snakepit/control/server";
import type { PageFiles } from "./dash.ts";
import {
	BODY_BYTES,
	RunRoutes,
	type RunRoutesDependencies,
} from "./run-routes.ts";

interface DashServerDependencies extends RunRoutesDependencies {
	readonly page: PageFiles;
	/** 0 for any free one. */
	readonly port: number;
	/** Is called when the page has opened its session. */
	readonly onOpened?: (() => void) | undefined;
}

export interface DashServer {
	/** Opens the page once; anyone who has it can do what the run's scopes allow. */
	readonly url: string;
	readonly port: number;
	close(): Promise<void>;
}

/** The page loads nothing from elsewhere, sends nothing elsewhere, cannot be framed, and never runs inline scripts or styles. */
const HEADERS: Readonly<Record<string, string>> = {
	"content-security-policy":
		"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
	"cross-origin-resource-policy": "same-origin",
	"cross-origin-opener-policy": "same-origin",
	"cache-control": "no-store",
};
const CONNECTIONS = 64;

/**
 * Serves the dashboard on 127.0.0.1, in this process: a fault in it cannot hurt the program that it shows.
 *
 * @throws an error of Node, `EADDRINUSE` for example.
 */
export async function serveDash(
	dependencies: DashServerDependencies,
): Promise<DashServer> {
	const http = createServer();
	http.maxConnections = CONNECTIONS;
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	http.once("error", reject);
	http.listen(dependencies.port, "127.0.0.1", resolve);
	await promise;
	const { port } = http.address() as AddressInfo;
	const site = new DashSite(dependencies, port);
	http.on("request", (request, response) => {
		void site.answer(request, response);
	});
	return {
		url: `http://127.0.0.1:${port}/#token=${site.session.token}`,
		port,
		close: async () => await closed(http),
	};
}

async function closed(http: Server): Promise<void> {
	const { promise, resolve } = Promise.withResolvers<void>();
	http.close(() => resolve());
	http.closeAllConnections();
	await promise;
}

class DashSite {
	readonly session: Session;
	readonly #dependencies: DashServerDependencies;
	readonly #runs: RunRoutes;

	constructor(dependencies: DashServerDependencies, port: number) {
		this.#dependencies = dependencies;
		this.session = new Session(port);
		this.#runs = new RunRoutes(dependencies);
	}

	async answer(
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<void> {
		response.on("error", () => {}); // The page is gone.
		for (const [name, value] of Object.entries(HEADERS))
			response.setHeader(name, value);
		const { method = "", url = "", headers } = request;
		const foreign = foreignHost(headers);
		if (foreign !== undefined) return refuse(response, foreign);
		const path = url.split("?", 1)[0] ?? "";
		const file = this.#dependencies.page.get(path);
		if (method === "GET" && file !== undefined) {
			response.setHeader("content-type", file.type);
			response.end(file.body);
			return;
		}
		const refusal = foreignOrigin(method, headers);
		if (refusal !== undefined) return refuse(response, refusal);
		if (path === "/api/session") await this.#signIn(request, response);
		else if (!this.session.includes(headers)) refuse(response, NO_SESSION);
		else {
			const refusal = await this.#runs.answer(request, response);
			if (refusal !== undefined) refuse(response, refusal);
		}
	}

	/** The page checks whether it has a session, or opens one with the token of the link. */
	async #signIn(
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<void> {
		if (this.session.includes(request.headers)) {
			response.writeHead(204).end();
			return;
		}
		if (request.method === "GET") return refuse(response, NO_SESSION);
		const body = await readObject(request, BODY_BYTES);
		if (body.kind === "refused") return refuse(response, body.refusal);
		const cookie = this.session.open(body.fields["token"]);
		if (cookie === undefined) return refuse(response, NO_SESSION);
		response.setHeader("set-cookie", cookie);
		this.#dependencies.onOpened?.();
		answerJson(response, { key: this.session.key });
	}
}

const NO_SESSION: Refusal = {
	status: 401,
	code: "NO_SESSION",
	message:
		"The link that `snakepit dash` prints opens the dashboard in one browser, once. Run the command again for another.",
};

function refuse(
	response: ServerResponse,
	{ status, code, message }: Refusal,
): void {
	answerJson(response, { error: { code, message } }, status);
}

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
		const prefix = `${this.#cookie}=`;
		const cookie = (headers.cookie ?? "")
			.split(";")
			.map((pair) => pair.trim())
			.find((pair) => pair.startsWith(prefix));
		const key = headers[KEY_HEADER];
		return (
			cookie !== undefined &&
			isSameSecret(cookie.slice(prefix.length), this.#secret) &&
			typeof key === "string" &&
			isSameSecret(key, this.key)
		);
	}
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
