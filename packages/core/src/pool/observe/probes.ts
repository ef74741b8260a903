import type { IncomingMessage, ServerResponse } from "node:http";
import { OptionsError } from "../../contract/errors.ts";
import { type HealthReason, type PoolHealth, togetherOf } from "./health.ts";

export type { HealthCode, HealthReason, PoolHealth } from "./health.ts";

/** Something whose health can be read: a pool. */
export interface HealthSource {
	health(): PoolHealth;
}

/** What is probed: pools, and pools that are still being created, as `createPool` returns them. */
export type Probed =
	| HealthSource
	| Promise<HealthSource>
	| readonly (HealthSource | Promise<HealthSource>)[];

/** Answers the probes of a supervisor, such as Kubernetes: `/livez` and `/readyz`. */
export interface Probes {
	/** What both addresses answer: of all pools together. */
	health(): PoolHealth;
	/**
	 * For `node:http`: answers a request for `/livez` or `/readyz`. Returns whether it was one; you answer all others.
	 */
	readonly node: (
		request: IncomingMessage,
		response: ServerResponse,
	) => boolean;
	/** A middleware of Express: `app.use(probes.express)`. Below a path, it answers there: `app.use("/health", ...)`. */
	readonly express: (
		request: IncomingMessage,
		response: ServerResponse,
		next: () => void,
	) => void;
	/** A plugin of Fastify: `app.register(probes.fastify)`, also with a `prefix`. */
	readonly fastify: (
		app: FastifyLike,
		options: unknown,
		done: () => void,
	) => void;
	/**
	 * For servers with `Request` and `Response`, such as a route handler of Next: `export const GET = probes.fetch` in
	 * `app/livez/route.ts` and `app/readyz/route.ts`. The last part of the path decides; for another one, it answers 404.
	 */
	readonly fetch: (request: {
		readonly url: string;
		readonly method: string;
	}) => Response;
}

/** The part of a Fastify instance that the plugin uses. */
export interface FastifyLike {
	get(
		path: string,
		handler: (request: unknown, reply: FastifyReplyLike) => unknown,
	): unknown;
}

export interface FastifyReplyLike {
	code(status: number): unknown;
	header(name: string, value: string): unknown;
	send(body: unknown): unknown;
}

type ProbeName = "livez" | "readyz";

/**
 * Makes the handlers of the probes. The status is 200 or 503, and the body the health as JSON, so that its reasons are in
 * the supervisor's events. A program whose event loop is blocked does not answer at all.
 *
 * Pass the promise of `createPool` to have probes answered before it resolves: the program is live then, and not ready.
 *
 * @param probed the pools; a function is called for each request.
 */
export function probes(probed: Probed | (() => Probed)): Probes {
	const known = new Known();
	if (typeof probed !== "function") known.of(probed);
	const health = (): PoolHealth =>
		known.of(typeof probed === "function" ? probed() : probed);
	const answerTo = (
		name: ProbeName,
	): { readonly status: number; readonly body: string } => {
		const found = health();
		const isWell = name === "livez" ? found.live : found.ready;
		return { status: isWell ? 200 : 503, body: JSON.stringify(found) };
	};
	const node: Probes["node"] = ({ method, url = "" }, response) => {
		const [path = ""] = url.split("?", 1);
		const name = nameOf(path.slice(1));
		if (name === undefined) return false;
		const { status, body } = isRead(method)
			? answerTo(name)
			: { status: 405, body: "" };
		response.writeHead(status, HEADERS);
		response.end(method === "HEAD" ? undefined : body);
		return true;
	};
	return {
		health,
		node,
		express: (request, response, next) => {
			if (!node(request, response)) next();
		},
		fastify: (app, _, done) => {
			for (const name of PROBES)
				app.get(`/${name}`, (_request, reply) => {
					const { status, body } = answerTo(name);
					reply.code(status);
					for (const [header, value] of Object.entries(HEADERS))
						reply.header(header, value);
					return reply.send(body);
				});
			done();
		},
		fetch: ({ url, method }) => {
			const { pathname } = new URL(url, "http://program");
			const name = nameOf(pathname.split("/").findLast(Boolean) ?? "");
			if (name === undefined) return new Response(null, { status: 404 });
			if (!isRead(method))
				return new Response(null, { status: 405, headers: HEADERS });
			const { status, body } = answerTo(name);
			const init = { status, headers: HEADERS };
			return new Response(method === "HEAD" ? null : body, init);
		},
	};
}

const PROBES: readonly ProbeName[] = ["livez", "readyz"];
const HEADERS: Readonly<Record<string, string>> = {
	"content-type": "application/json",
	"cache-control": "no-store",
	allow: "GET, HEAD",
};

function nameOf(part: string): ProbeName | undefined {
	return PROBES.find((name) => name === part);
}

function isRead(method: string | undefined): boolean {
	return method === "GET" || method === "HEAD";
}

type Creation =
	| { readonly kind: "pending" }
	| { readonly kind: "created"; readonly source: HealthSource }
	| { readonly kind: "failed"; readonly code: string | undefined };

/** How the pools are that have been seen, those that are being created included. */
class Known {
	readonly #creations = new WeakMap<Promise<HealthSource>, Creation>();

	of(probed: Probed): PoolHealth {
		const sources = Array.isArray(probed) ? probed : [probed];
		if (!sources.every(isProbed))
			throw new OptionsError({
				code: "INVALID_OPTION",
				ran: "no",
				message:
					"probes: give it a pool, the promise of one, a list of these, or a function that returns one of them.",
			});
		if (sources.length === 0)
			return without("live", "NO_POOL", "The program has no pool");
		return togetherOf(sources.map((source) => this.#one(source)));
	}

	#one(source: HealthSource | Promise<HealthSource>): PoolHealth {
		if (!isPromise(source)) return source.health();
		const creation = this.#creations.get(source) ?? this.#watch(source);
		if (creation.kind === "created") return creation.source.health();
		if (creation.kind === "pending")
			return without("live", "STARTING", "A pool is being created");
		const { code } = creation;
		return without(
			"dead",
			"START_FAILED",
			`A pool could not be created${code === undefined ? "" : ` (${code})`}`,
		);
	}

	#watch(creating: Promise<HealthSource>): Creation {
		const pending: Creation = { kind: "pending" };
		this.#creations.set(creating, pending);
		creating.then(
			(source) => this.#creations.set(creating, { kind: "created", source }),
			(error) => {
				const { code } = (error ?? {}) as { readonly code?: unknown };
				this.#creations.set(creating, {
					kind: "failed",
					code: typeof code === "string" ? code : undefined,
				});
			},
		);
		return pending;
	}
}

function isProbed(source: unknown): boolean {
	if (typeof source !== "object" || source === null) return false;
	return isPromise(source) || "health" in source;
}

/** Also one of another realm. */
function isPromise<Value>(source: object): source is Promise<Value> {
	return "then" in source && typeof source.then === "function";
}

function without(
	life: "live" | "dead",
	code: HealthReason["code"],
	what: string,
): PoolHealth {
	const reason: HealthReason = { code, pool: null, message: `${what}.` };
	return { live: life === "live", ready: false, reasons: [reason] };
}
