import { randomBytes } from "node:crypto";
import {
	createServer,
	type IncomingHttpHeaders,
	type IncomingMessage,
	type Server,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { SCOPES } from "@snakepit/control";
import {
	isSameSecret,
	type Refusal,
	readObject,
} from "@snakepit/control/server";
import {
	answeredWithFile,
	answerJson,
	BODY_BYTES,
	foreignOrigin,
	type PageFiles,
	refuse,
	setPageHeaders,
} from "./page-answers.ts";
import {
	NOT_FOUND,
	RunRoutes,
	type RunRoutesDependencies,
	type Viewer,
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
		setPageHeaders(response);
		const { method = "", headers } = request;
		const foreign = foreignHost(headers);
		if (foreign !== undefined) return refuse(response, foreign);
		const url = URL.parse(request.url ?? "", "http://page");
		if (url === null) return refuse(response, NOT_FOUND);
		const { page } = this.#dependencies;
		if (answeredWithFile(page, method, url.pathname, response)) return;
		const refusal = foreignOrigin(method, headers, [`http://${headers.host}`]);
		if (refusal !== undefined) return refuse(response, refusal);
		if (url.pathname === "/api/session") await this.#signIn(request, response);
		else if (!this.session.includes(headers)) refuse(response, NO_SESSION);
		else {
			const refusal = await this.#runs.answer(url, VIEWER, request, response);
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

/** A user who has the page can do what the program allows. */
const VIEWER: Viewer = { scopes: SCOPES, caller: "snakepit dash" };

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
