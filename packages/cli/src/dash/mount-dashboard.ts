import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { type ControlScope, DEFAULT_SCOPES, SCOPES } from "@snakepit/control";
import type { Refusal } from "@snakepit/control/server";
import { OptionsError } from "@snakepit/core";
import {
	aFunction,
	type Check,
	checkOptions,
	nonEmptyText,
	optional,
} from "@snakepit/core/options";
import {
	answeredWithFile,
	answerJson,
	foreignOrigin,
	type PageFiles,
	refuse,
	setPageHeaders,
} from "./page-answers.ts";
import { systemClock } from "./run-events.ts";
import { RunRoutes, type Viewer } from "./run-routes.ts";
import { ownRuns, type RunSource, runsOfUser } from "./run-source.ts";

/** Who may see a dashboard in your own server, and what it shows. */
export interface DashboardOptions<
	Request extends IncomingMessage = IncomingMessage,
> {
	/**
	 * Decides, for each request, whether it comes from somebody who may see the dashboard: your own login. Anything but
	 * `true` means no. It must be given.
	 */
	readonly authorize: (request: Request) => boolean | Promise<boolean>;
	/** What the page may do, of what the program's option `control` allows. @default ["read","logs"] */
	readonly scopes?: readonly ControlScope[] | undefined;
	/** The name of who asks: it is in the program's events and its history. By default, `a mounted dashboard`. */
	readonly nameOf?:
		| ((request: Request) => string | undefined | Promise<string | undefined>)
		| undefined;
	/** Shows all runs of this data directory. By default, those of this process, and earlier ones of the same program. */
	readonly dataDir?: string | undefined;
	/** The public origin of your server, such as `"https://ops.example.com"`: needed where a proxy changes the header Host. */
	readonly origin?: string | undefined;
}

/** Where the page is in your server. Also takes the options of `DashboardOptions`. */
export interface MountOptions extends DashboardOptions {
	/** The path of the page, without a slash at the end. @default "/snakepit" */
	readonly path?: string | undefined;
}

/** A dashboard that a server has. */
export interface MountedDashboard {
	/** The path of the page, with a slash at the end. */
	readonly path: string;
	/** Takes it away from the server, and ends what its pages follow. */
	close(): void;
}

/** Answers requests, as frameworks call it; `next` gets what `authorize` throws. */
export type DashboardHandler<Request extends IncomingMessage> = (
	request: Request,
	response: ServerResponse,
	next?: (error?: unknown) => void,
) => void;

/** The defaults, and why. */
export const DASHBOARD_DEFAULTS: {
	readonly scopes: {
		readonly value: readonly ControlScope[];
		readonly reason: string;
	};
} = {
	scopes: {
		value: DEFAULT_SCOPES,
		reason: "to look changes nothing: who may do more is your decision",
	},
};

export const DASHBOARD_CHECKS: Readonly<Record<keyof DashboardOptions, Check>> =
	{
		authorize: (value) =>
			typeof value === "function"
				? undefined
				: "must be a function that returns true for the requests of those who may see the dashboard. There is no default: ask your own login",
		scopes: optional((value) =>
			Array.isArray(value) &&
			value.length > 0 &&
			value.every((each) => SCOPES.includes(each))
				? undefined
				: `must have at least one of ${SCOPES.map((scope) => `"${scope}"`).join(", ")}`,
		),
		nameOf: optional(aFunction),
		dataDir: optional(nonEmptyText),
		origin: optional((value) =>
			URL.parse(String(value))?.origin === value
				? undefined
				: 'must be an origin such as "https://ops.example.com"',
		),
	};

/** The default of `path`, and why. */
export const MOUNT_DEFAULTS = {
	path: {
		value: "/snakepit",
		reason: "a path that no program has for something else",
	},
} as const;

export const MOUNT_CHECKS: Readonly<
	Record<Exclude<keyof MountOptions, keyof DashboardOptions>, Check>
> = {
	path: optional((value) =>
		/^(\/[\w.~-]+)+$/.test(String(value))
			? undefined
			: 'must be a path such as "/snakepit", without a slash at the end',
	),
};

/** A handler gets requests of one path alone, and does not know which. */
const isOfMount: Check = (value) =>
	value === undefined
		? undefined
		: 'is an option of mountDashboard. Your framework gives a handler its path, as in app.use("/snakepit", dashboardHandler({ authorize }))';

/** What the entry of the package hands in. */
export interface DashboardParts {
	/** Loads the files of the page, when it is asked for first. */
	readonly page: () => PageFiles;
	/** After this time a page asks for its streams again, in milliseconds. A user who has logged out sees no more then. */
	readonly streamMs: number;
}

/** Makes the handler of requests for a dashboard. @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function makeHandler<Request extends IncomingMessage>(
	options: DashboardOptions<Request>,
	parts: DashboardParts,
): DashboardHandler<Request> {
	const caller = "dashboardHandler";
	checkOptions(caller, options, { ...DASHBOARD_CHECKS, path: isOfMount });
	const site = new MountedSite(options, { caller, ...parts });
	return (request, response, next) => void site.answer(request, response, next);
}

/** The paths of the dashboards that a server has. */
const mountedPaths = new WeakMap<Server, Set<string>>();

/**
 * Adds a dashboard to a server: requests for its path come here first, all others go on as before.
 *
 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`; nothing is added then.
 */
export function mount(
	server: Server,
	options: MountOptions,
	parts: DashboardParts,
): MountedDashboard {
	const caller = "mountDashboard";
	checkServer(caller, server);
	checkOptions(caller, options, { ...DASHBOARD_CHECKS, ...MOUNT_CHECKS });
	const { path = MOUNT_DEFAULTS.path.value } = options;
	const freePath = takePath(caller, server, path);
	const site = new MountedSite(options, { caller, path, ...parts });
	const previous = Object.getOwnPropertyDescriptor(server, "emit");
	const { emit } = server;
	let state: "mounted" | "closed" = "mounted";
	// Not as one more listener: those of the framework would answer, too, and may be added later.
	const withDashboard = function (
		this: Server,
		event: string,
		...rest: unknown[]
	): boolean {
		const [request, response] = rest as [IncomingMessage, ServerResponse];
		if (event !== "request" || state === "closed" || !isBelow(path, request))
			return Reflect.apply(emit, this, [event, ...rest]);
		void site.answer(request, response, undefined);
		return true;
	};
	server.emit = withDashboard;
	return {
		path: `${path}/`,
		close: () => {
			state = "closed";
			freePath();
			site.close();
			if (server.emit !== withDashboard) return; // Somebody else has wrapped it since.
			if (previous === undefined) Reflect.deleteProperty(server, "emit");
			else Object.defineProperty(server, "emit", previous);
		},
	};
}

/** Express calls its `app` a handler and an emitter, too: requests never come through that. */
function checkServer(caller: string, server: Server): void {
	if (typeof server?.listening === "boolean") return;
	throw new OptionsError({
		code: "INVALID_OPTION",
		message: `${caller}: the first argument must be a server of node:http: what createServer() or app.listen() of Express returns, or fastify.server.`,
	});
}

/** Returns the function that gives the path back. @throws OptionsError if a dashboard of the server would get the same requests. */
function takePath(caller: string, server: Server, path: string): () => void {
	const paths = mountedPaths.get(server) ?? new Set();
	const taken = [...paths].find(
		(other) => isBelow(path, { url: other }) || isBelow(other, { url: path }),
	);
	if (taken !== undefined)
		throw new OptionsError({
			code: "INVALID_OPTION",
			message: `${caller}: "path" is "${path}", but this server has a dashboard at "${taken}" already. Mount it once, give this one another path that is neither above nor below, or call close() of the other one first.`,
		});
	mountedPaths.set(server, paths.add(path));
	return () => paths.delete(path);
}

function isBelow(
	path: string,
	{ url = "" }: { readonly url?: string | undefined },
): boolean {
	const [asked] = url.split("?", 1);
	return asked === path || asked?.startsWith(`${path}/`) === true;
}

/** How often it is looked whether the server still listens, in milliseconds: a server that closes waits for its streams. */
const LOOK_MS = 500;

/** How a dashboard came into a server. */
interface Site extends DashboardParts {
	/** The function that was given the options, for messages. */
	readonly caller: string;
	/** Is in front of the addresses of requests. A framework that has mounted a handler has taken it away. */
	readonly path?: string;
}

class MountedSite<Request extends IncomingMessage> {
	readonly #options: DashboardOptions<Request>;
	readonly #site: Site;
	readonly #page: () => PageFiles;
	readonly #runs: RunRoutes;
	readonly #closed = new AbortController();

	constructor(options: DashboardOptions<Request>, site: Site) {
		this.#options = options;
		this.#site = site;
		this.#page = once(site.page);
		const { dataDir } = options;
		const runs: RunSource =
			dataDir === undefined ? ownRuns() : runsOfUser({ dataDir });
		this.#runs = new RunRoutes({ runs, clock: systemClock });
	}

	close(): void {
		this.#closed.abort();
	}

	async answer(
		request: Request,
		response: ServerResponse,
		next: ((error?: unknown) => void) | undefined,
	): Promise<void> {
		response.on("error", () => {}); // The page is gone.
		try {
			setPageHeaders(response);
			const allowed = await this.#options.authorize(request);
			if (allowed === true) await this.#answerViewer(request, response);
			else refuse(response, NOT_AUTHORIZED);
		} catch (error) {
			if (response.headersSent) response.destroy();
			else if (next !== undefined) next(error);
			else {
				const message = error instanceof Error ? error.message : String(error);
				process.emitWarning(
					`The dashboard of Snakepit could not answer a request, because authorize, nameOf or the dashboard itself failed: ${message}`,
				);
				refuse(response, BROKEN);
			}
		}
	}

	async #answerViewer(
		request: Request,
		response: ServerResponse,
	): Promise<void> {
		const { method = "", headers } = request;
		const url = this.#below(request);
		if (url === undefined) {
			redirectToDirectory(request, response);
			return;
		}
		if (answeredWithFile(this.#page(), method, url.pathname, response)) return;
		const refusal = foreignOrigin(method, headers, this.#origins(request));
		if (refusal !== undefined) return refuse(response, refusal);
		if (method === "GET" && url.pathname === "/api/session") {
			answerJson(response, { servedBy: "program" });
			return;
		}
		const viewer = await this.#viewer(request, response);
		const refused = await this.#runs.answer(url, viewer, request, response);
		if (refused !== undefined) refuse(response, refused);
	}

	/** The path below the page's own; `undefined` for the page's own path without its last slash. */
	#below(request: Request): URL | undefined {
		const { path } = this.#site;
		const { url = "/" } = request;
		const { originalUrl = url } = request as { originalUrl?: string };
		const rest = path === undefined ? url : url.slice(path.length);
		const [asked] = rest.split("?", 1);
		const [whole = ""] = originalUrl.split("?", 1);
		if ((asked === "" || asked === "/") && !whole.endsWith("/"))
			return undefined;
		return URL.parse(`http://page${rest}`) ?? undefined;
	}

	#origins({ headers }: Request): readonly string[] {
		const { origin } = this.#options;
		if (origin !== undefined) return [origin];
		// Only a browser sets it: what it calls the same origin is.
		if (headers["sec-fetch-site"] === "same-origin")
			return [headers.origin ?? ""];
		return [`http://${headers.host}`, `https://${headers.host}`];
	}

	async #viewer(request: Request, response: ServerResponse): Promise<Viewer> {
		const { scopes = DEFAULT_SCOPES, nameOf } = this.#options;
		const { caller, streamMs } = this.#site;
		const name = (await nameOf?.(request)) ?? "a mounted dashboard";
		const until = AbortSignal.any([
			this.#closed.signal,
			AbortSignal.timeout(streamMs),
			listeningEnds(request, response),
		]);
		return { scopes, caller, name, until };
	}
}

/** Aborts when the server of a request does not listen any more. */
function listeningEnds(
	{ socket }: IncomingMessage,
	response: ServerResponse,
): AbortSignal {
	const ended = new AbortController();
	const { server } = socket as { readonly server?: { listening?: boolean } };
	if (server?.listening !== true) return ended.signal;
	const timer = setInterval(() => {
		if (server.listening === false) ended.abort();
	}, LOOK_MS);
	timer.unref();
	response.on("close", () => clearInterval(timer));
	return ended.signal;
}

/** The page's own addresses are relative to the directory that it is in. */
function redirectToDirectory(
	request: IncomingMessage,
	response: ServerResponse,
): void {
	const { url = "" } = request;
	const { originalUrl = url } = request as { originalUrl?: string };
	const [path = ""] = originalUrl.split("?", 1);
	const last = path.slice(path.lastIndexOf("/") + 1);
	response.writeHead(302, { location: `./${last}/` }).end();
}

function once<Value>(load: () => Value): () => Value {
	let loaded: { readonly value: Value } | undefined;
	return () => {
		loaded ??= { value: load() };
		return loaded.value;
	};
}

const NOT_AUTHORIZED: Refusal = {
	status: 403,
	code: "NOT_AUTHORIZED",
	message:
		"You may not see this dashboard: log in, or ask the operator of this server.",
};

const BROKEN: Refusal = {
	status: 503,
	code: "FAILED",
	message:
		"This server could not answer, or could not find out whether you may see this dashboard. Its standard error says why.",
};
