/** What the handlers of probes and metrics have in common: what they are given, and which requests they answer. */
import { once } from "node:events";
import {
	createServer,
	type IncomingMessage,
	request,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import type { FastifyReplyLike } from "../../src/pool/observe/answer.ts";
import { metricsHandler } from "../../src/pool/observe/metrics-handler.ts";
import { type HealthSource, probes } from "../../src/pool/observe/probes.ts";
import type { Sources } from "../../src/pool/observe/sources.ts";
import type { Pool } from "../../src/pool/pool.ts";
import { createPool, openRun } from "../../src/run/open-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { lineAdapter } from "../control/line-adapter.ts";

type Given = Sources<Pool> | (() => Sources<Pool>);

const OPTIONS = {
	...{ adapter: lineAdapter(), size: 1 },
	output: { echo: "none" },
} as const;

async function ready(): Promise<Pool> {
	const dataDir = temporaryDirectory();
	const pool = await createPool({ ...OPTIONS, dataDir, name: "lines" });
	onTestFinished(() => pool.close({ manner: "forced" }));
	return pool;
}

interface Answered {
	readonly status: number | undefined;
	readonly allow: unknown;
	readonly type: unknown;
	readonly length: unknown;
	readonly body: string;
}

type Ask = (method: string) => Promise<Answered>;

/** Asks a server of node:http. */
function ofNode(
	handler: (request: IncomingMessage, response: ServerResponse) => unknown,
	path: string,
): Ask {
	return async (method) => {
		const server = createServer((request, response) => {
			handler(request, response);
		}).listen(0, "127.0.0.1");
		await once(server, "listening");
		const { port } = server.address() as AddressInfo;
		const sent = request({
			...{ host: "127.0.0.1", port, path, method, agent: false },
		});
		sent.end();
		const [response] = (await once(sent, "response")) as [IncomingMessage];
		const body = await textOf(response);
		server.close();
		const { statusCode: status, headers } = response;
		return answered(status, (name) => headers[name], body);
	};
}

/** Asks as Fastify does: it has routed the request already. */
function ofFastify(
	handler: (request: { method: string }, reply: FastifyReplyLike) => unknown,
): Ask {
	return async (method) => {
		let status: number | undefined;
		let body = "";
		const headers = new Map<string, string>();
		const reply = {
			raw: {},
			code: (code: number) => {
				status = code;
			},
			header: (name: string, value: string) => void headers.set(name, value),
			send: (text: string) => {
				body = text;
			},
		};
		handler({ method }, reply);
		return answered(status, (name) => headers.get(name), body);
	};
}

/** Asks a handler of the web standard. */
function ofFetch(handler: (request: Request) => Response, path: string): Ask {
	return async (method) => {
		const response = handler(new Request(`http://host${path}`, { method }));
		const { status, headers } = response;
		return answered(
			status,
			(name) => headers.get(name) ?? undefined,
			await response.text(),
		);
	};
}

function answered(
	status: number | undefined,
	header: (name: string) => unknown,
	body: string,
): Answered {
	return {
		...{ status, body, allow: header("allow") },
		type: header("content-type"),
		length: header("content-length"),
	};
}

/** The route that the plugin of Fastify adds for a path. */
function fastifyRoute(pool: Pool, wanted: string) {
	let handler: Parameters<typeof ofFastify>[0] | undefined;
	const app = {
		all: (path: string, added: typeof handler) => {
			if (path === wanted) handler = added;
		},
	};
	probes(pool).fastify(app, undefined, () => {});
	if (handler === undefined) throw new Error(`No route for ${wanted}.`);
	return handler;
}

const WAYS: Readonly<Record<string, (pool: Pool) => Ask>> = {
	"probes in node:http": (pool) => ofNode(probes(pool).node, "/livez"),
	"probes in Express": (pool) =>
		ofNode(
			(request, response) =>
				probes(pool).express(request, response, () =>
					response.end("passed on"),
				),
			"/readyz?verbose",
		),
	"probes in Fastify": (pool) => ofFastify(fastifyRoute(pool, "/readyz")),
	"probes in Next": (pool) => ofFetch(probes(pool).fetch, "/base/livez/"),
	"metrics in node:http and Express": (pool) =>
		ofNode(metricsHandler(pool), "/metrics"),
	"metrics in Fastify": (pool) => ofFastify(metricsHandler(pool)),
	// Which calls it with a second argument of its own.
	"metrics in Next": (pool) =>
		ofFetch(
			(request) =>
				Reflect.apply(metricsHandler(pool), undefined, [
					request,
					{ params: Promise.resolve({}) },
				]),
			"/metrics",
		),
};

test.each(Object.entries(WAYS))(
	"%s: GET reads, HEAD is GET without a body, anything else is 405 and says what is allowed",
	async (_, way) => {
		const ask = way(await ready());
		const read = await ask("GET");
		expect(read.status).toBe(200);
		expect(read.body).toMatch(/^(# HELP snakepit_|\{"live":true)/);
		expect(read.length).toBe(String(Buffer.byteLength(read.body)));
		expect(read.type).toMatch(/^(text\/plain; version=|application\/json)/);
		const head = await ask("HEAD");
		expect(head).toEqual({ ...read, body: "", length: head.length });
		expect(head.length).toMatch(/^\d+$/);
		for (const method of ["POST", "PUT", "DELETE", "OPTIONS"])
			expect(await ask(method)).toMatchObject({
				...{ status: 405, allow: "GET, HEAD", body: "" },
			});
	},
);

test("a path that is no probe is passed on where the server can, and is 404 where it cannot", async () => {
	const { node, express, fetch } = probes(await ready());
	const passed = await ofNode(
		(request, response) => node(request, response) || response.end("mine"),
		"/livez/else",
	)("POST");
	expect(passed.body).toBe("mine");
	const next = await ofNode(
		(request, response) =>
			express(request, response, () => response.end("next")),
		"/",
	)("GET");
	expect(next.body).toBe("next");
	expect((await ofFetch(fetch, "/other")("GET")).status).toBe(404);
});

describe("a handler takes", () => {
	test("a pool, the promise of one, a list of both, and a function that returns any of these", async () => {
		const pool = await ready();
		const promise = Promise.resolve(pool);
		const forms: Given[] = [
			...[pool, promise, [pool, promise]],
			...[() => pool, () => promise, () => [promise]],
		];
		for (const given of forms) {
			const { health } = probes(given);
			const metrics = metricsHandler(given);
			const reading = () => metrics(new Request("http://host/"));
			// Of a promise that a function returns, nothing is known before the first request.
			reading();
			health();
			await promise;
			expect(health()).toEqual({ live: true, ready: true, reasons: [] });
			expect(await reading().text()).toContain(
				'snakepit_worker_min{snakepit_pool_name="lines"} 1\n',
			);
		}
		const none = metricsHandler([])(new Request("http://host/"));
		expect(await none.text()).toBe("");
	});

	test("a run, for all of its pools, and the promise of one", async () => {
		const opening = openRun({ dataDir: temporaryDirectory() });
		const { health } = probes(opening);
		const metrics = metricsHandler(opening);
		const reading = () => metrics(new Request("http://host/"));
		expect(health().reasons[0]?.code).toBe("STARTING");
		expect(await reading().text()).toBe("");
		await using run = await opening;
		expect(health().reasons[0]?.code).toBe("NO_POOL");
		const first = await run.createPool({ ...OPTIONS, name: "first" });
		await run.createPool({ ...OPTIONS, name: "second" });
		expect(health()).toEqual({ live: true, ready: true, reasons: [] });
		expect(health()).toEqual(run.health());
		const text = await reading().text();
		for (const name of ["first", "second"])
			expect(text).toContain(
				`snakepit_worker_min{snakepit_pool_name="${name}"} 1\n`,
			);
		first.pause();
		expect(health().reasons).toEqual(first.health().reasons);
	});

	test("nothing else: it is refused when the handler is made, or when the function returns it", () => {
		const wrong: unknown[] = [undefined, null, {}, "pool", [null], [[]]];
		for (const given of wrong)
			for (const make of [probes, metricsHandler] as ((
				given: never,
			) => unknown)[])
				expect(() => make(given as never), String(given)).toThrow(
					expect.objectContaining({
						code: "INVALID_OPTION",
						message: expect.stringMatching(
							/^(probes|metricsHandler): give it a pool or a run, the promise of one,/,
						),
					}),
				);
		const { health } = probes(() => ({}) as HealthSource);
		expect(health).toThrow(expect.objectContaining({ name: "OptionsError" }));
	});
});
