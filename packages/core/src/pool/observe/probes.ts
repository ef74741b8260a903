import type { IncomingMessage, ServerResponse } from "node:http";
import {
	type Answer,
	answerTo,
	type FastifyReplyLike,
	sendFastify,
	sendNode,
	toResponse,
} from "./answer.ts";
import { type PoolHealth, togetherOf, without } from "./health.ts";
import { SourceReader, type SourceState, type Sources } from "./sources.ts";

export type { FastifyReplyLike } from "./answer.ts";
export type { HealthCode, HealthReason, PoolHealth } from "./health.ts";
export type { Sources } from "./sources.ts";

/** Something whose health can be read: a pool, or a run. */
export interface HealthSource {
	health(): PoolHealth;
}

/** Answers the probes of a supervisor, such as Kubernetes: `/livez` and `/readyz`, to GET and HEAD. */
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
	all(
		path: string,
		handler: (
			request: { readonly method: string },
			reply: FastifyReplyLike,
		) => unknown,
	): unknown;
}

type ProbeName = "livez" | "readyz";

/**
 * Makes the handlers of the probes. The status is 200 or 503, and the body the health as JSON, so that its reasons are in
 * the supervisor's events. A program whose event loop is blocked does not answer at all.
 *
 * Pass the promise of `createPool` to have probes answered before it resolves: the program is live then, and not ready.
 *
 * @param probed a pool or a run, the promise of one, a list of these, or a function that returns one of them and is called
 *   for each request.
 * @throws OptionsError `INVALID_OPTION` if it is none of them.
 */
export function probes(
	probed: Sources<HealthSource> | (() => Sources<HealthSource>),
): Probes {
	const reader = new SourceReader<HealthSource>("probes", probed, hasHealth);
	const health = (): PoolHealth => togetherOf(reader.read().map(healthOf));
	const answer = (name: ProbeName, method: string | undefined): Answer =>
		answerTo(method, () => {
			const found = health();
			const isWell = name === "livez" ? found.live : found.ready;
			return {
				status: isWell ? 200 : 503,
				contentType: "application/json",
				body: JSON.stringify(found),
			};
		});
	const node: Probes["node"] = ({ method, url = "" }, response) => {
		const [path = ""] = url.split("?", 1);
		const name = nameOf(path.slice(1));
		if (name === undefined) return false;
		sendNode(response, answer(name, method));
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
				app.all(`/${name}`, ({ method }, reply) =>
					sendFastify(reply, answer(name, method)),
				);
			done();
		},
		fetch: ({ url, method }) => {
			const { pathname } = new URL(url, "http://program");
			const name = nameOf(pathname.split("/").findLast(Boolean) ?? "");
			return name === undefined
				? new Response(null, { status: 404 })
				: toResponse(answer(name, method));
		},
	};
}

const PROBES: readonly ProbeName[] = ["livez", "readyz"];

function nameOf(part: string): ProbeName | undefined {
	return PROBES.find((name) => name === part);
}

function hasHealth(source: object): boolean {
	return "health" in source && typeof source.health === "function";
}

function healthOf(state: SourceState<HealthSource>): PoolHealth {
	switch (state.kind) {
		case "created":
			return state.source.health();
		case "creating":
			return without("live", "STARTING", "A pool is being created");
		case "failed": {
			const why = state.code === undefined ? "" : ` (${state.code})`;
			return without(
				"dead",
				"START_FAILED",
				`A pool could not be created${why}`,
			);
		}
	}
}
