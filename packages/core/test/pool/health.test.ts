import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import { type HealthFacts, healthOf } from "../../src/pool/observe/health.ts";
import {
	type HealthSource,
	type PoolHealth,
	probes,
	type Sources,
} from "../../src/pool/observe/probes.ts";
import type { Pool } from "../../src/pool/pool.ts";
import { createPool } from "../../src/run/open-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { lineAdapter } from "../control/line-adapter.ts";

const WELL: HealthFacts = {
	...{ pool: "demo", phase: "open", min: 2, ready: 2, starting: 0 },
	...{ waiting: 0, limit: 10, failuresInARow: 0, next: null },
	...{ budget: { max: 3, windowMs: 60_000 }, lastFailure: undefined },
};

test("a pool with a warm worker and room in its queue is live and ready, whatever failed before", () => {
	const well = { live: true, ready: true, reasons: [] };
	expect(healthOf(WELL)).toEqual(well);
	expect(
		healthOf({ ...WELL, ready: 1, failuresInARow: 3, waiting: 9 }),
	).toEqual(well);
	const spent = { inMs: 1, after: "budget" } as const;
	expect(healthOf({ ...WELL, ready: 1, next: spent })).toEqual(well);
});

test("a pool whose first worker starts with the first call is ready for it", () => {
	const idle = { ...WELL, min: 0, ready: 0 };
	expect(healthOf(idle)).toMatchObject({ live: true, ready: true });
	expect(healthOf({ ...idle, starting: 1 })).toMatchObject({ ready: false });
	expect(healthOf({ ...idle, failuresInARow: 1 })).toMatchObject({
		...{ live: true, ready: false, reasons: [{ code: "NO_WORKER" }] },
	});
});

test.each([
	[{ ready: 0, starting: 2 }, true, "STARTING", /ready yet; 2 are starting/],
	[
		{
			...{ ready: 0, failuresInARow: 2, lastFailure: "WORKER_EXITED_EARLY" },
			next: { inMs: 1_500, after: "pause" },
		},
		true,
		"NO_WORKER",
		/no worker that is ready \(last failure: WORKER_EXITED_EARLY\); the next start is in 1\.5 s/,
	],
	[
		{ ready: 0, failuresInARow: 4, next: { inMs: 30_000, after: "budget" } },
		false,
		"RESTART_BUDGET_SPENT",
		/3 restarts in 60 s \(start\.maxRestarts\), and tries again in 30\.0 s/,
	],
	[
		{ waiting: 10 },
		true,
		"QUEUE_FULL",
		/has 10 waiting calls, and may have 10/,
	],
	[
		{ phase: "paused", waiting: 1 },
		true,
		"PAUSED",
		/is paused, and 1 call waits/,
	],
	[{ phase: "closing", ready: 0 }, true, "POOL_CLOSED", /closing/],
] as const)(
	"a pool with %j is not ready, and live is %s: %s",
	(facts, live, code, message) => {
		expect(healthOf({ ...WELL, ...(facts as Partial<HealthFacts>) })).toEqual({
			...{ live, ready: false },
			reasons: [
				{ code, pool: "demo", message: expect.stringMatching(message) },
			],
		});
	},
);

test("all reasons are named", () => {
	const { reasons } = healthOf({
		...{ ...WELL, ready: 0, starting: 1, phase: "paused", waiting: 10 },
	});
	expect(reasons.map(({ code }) => code)).toEqual([
		"STARTING",
		"PAUSED",
		"QUEUE_FULL",
	]);
});

/** The health of a pool with real workers, as its program and a supervisor see it. */

/** Workers that are ready when they have answered, and do not start while a file is there. */
function brittleAdapter(broken: string): Adapter {
	const lines = lineAdapter();
	return {
		...lines,
		launch: (...place) => {
			const {
				executable,
				args = [],
				...spec
			} = lines.launch(...place) as Awaited<ReturnType<Adapter["launch"]>>;
			const script = 'test -e "$1" && exit 3; shift; exec "$@"';
			return {
				...spec,
				executable: "/bin/sh",
				args: ["-c", script, "sh", broken, executable, ...args],
			};
		},
		connect: async (...given) => {
			// One that has ended at once does not read.
			given[0].stdin?.on("error", () => {});
			const connection = await lines.connect(...given);
			const first = { callId: "first" } as Parameters<
				typeof connection.execute
			>[2];
			await connection.execute("echo", 1, first);
			return connection;
		},
	};
}

interface Bench {
	readonly pool: Pool;
	/** Has starts fail from now on, or work again. */
	breaks(): void;
	mends(): void;
}

async function bench(options: Partial<PoolOptions>): Promise<Bench> {
	const dataDir = temporaryDirectory();
	const broken = join(dataDir, "broken");
	const pool = await createPool({
		...{ name: "demo", adapter: brittleAdapter(broken), dataDir },
		...{ size: 1, heartbeat: "off", output: { echo: "none" }, ...options },
	});
	onTestFinished(() => pool.close({ manner: "forced" }));
	return {
		pool,
		breaks: () => writeFileSync(broken, ""),
		mends: () => rmSync(broken),
	};
}

/** Resolves at the next event of a type. */
function next(pool: Pool, type: Parameters<Pool["on"]>[0]): Promise<unknown> {
	return new Promise((resolve) => pool.on(type as never, resolve as never));
}

/** What a supervisor sees: the status of both addresses, and the codes of the reasons. */
async function probed(
	what: Sources<HealthSource> | (() => Sources<HealthSource>),
) {
	const { node } = probes(what);
	const server = createServer((request, response) => {
		if (!node(request, response)) response.writeHead(404).end();
	}).listen(0, "127.0.0.1");
	onTestFinished(() => void server.close());
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	return async () => {
		const ask = (path: string) =>
			fetch(`http://127.0.0.1:${port}/${path}?verbose`);
		const [live, ready] = await Promise.all([ask("livez"), ask("readyz")]);
		const { reasons } = (await ready.json()) as ReturnType<Pool["health"]>;
		return [live.status, ready.status, ...reasons.map(({ code }) => code)];
	};
}

test("a warm pool is ready; one whose queue is full, that is paused or that closes is not, and is live", async () => {
	const { pool } = await bench({ queue: { limit: 2 } });
	const look = await probed(pool);
	expect(await look()).toEqual([200, 200]);
	const calls = [1, 2, 3].map(() =>
		pool.execute("sleep", 600_000).catch(() => {}),
	);
	expect(await look()).toEqual([200, 503, "QUEUE_FULL"]);
	expect(pool.health().reasons[0]?.message).toBe(
		"Pool demo has 2 waiting calls, and may have 2 (queue.limit).",
	);
	pool.pause();
	expect(await look()).toEqual([200, 503, "PAUSED", "QUEUE_FULL"]);
	pool.resume();
	const closed = pool.close();
	expect(await look()).toEqual([200, 503, "POOL_CLOSED"]);
	await pool.close({ manner: "forced" });
	await Promise.all([closed, ...calls]);
	expect(await look()).toEqual([200, 503, "POOL_CLOSED"]);
});

test("a pool that starts on demand is ready, and while its first worker starts it is not", async () => {
	const { pool } = await bench({ size: { min: 0, max: 1 } });
	expect(pool.health()).toEqual({ live: true, ready: true, reasons: [] });
	const ready = next(pool, "worker.ready");
	const call = pool.execute("echo", 1);
	expect(pool.health()).toMatchObject({
		...{ live: true, ready: false, reasons: [{ code: "STARTING" }] },
	});
	await ready;
	expect(pool.health()).toMatchObject({ ready: true });
	await call;
});

test("a crash loop is not ready; live ends with the budget of restarts, and comes back with a worker", async () => {
	const start = { maxRestarts: 2, backoffMs: 1 };
	const { pool, breaks, mends } = await bench({ start });
	const look = await probed([pool]);
	breaks();
	const atFailure = new Promise<PoolHealth>((resolve) => {
		pool.on("worker.start_failed", () => resolve(pool.health()));
	});
	const spent = next(pool, "pool.restart_budget_spent");
	process.kill(pool.workers()[0]?.pid ?? 0, "SIGKILL");
	expect(await atFailure).toMatchObject({
		...{ live: true, ready: false },
		reasons: [
			{
				code: "NO_WORKER",
				message: expect.stringMatching(/last failure: WORKER_EXITED_EARLY/),
			},
		],
	});
	await spent;
	expect(await look()).toEqual([503, 503, "RESTART_BUDGET_SPENT"]);
	mends();
	await pool.restart("demo-0");
	expect(await look()).toEqual([200, 200]);
});

test("a pool that is still created is live, and one that could not be is not", async () => {
	const creating = bench({ start: { timeoutMs: 30_000 } });
	const look = await probed(creating.then(({ pool }) => pool));
	expect(await look()).toEqual([200, 503, "STARTING"]);
	await creating;
	expect(await look()).toEqual([200, 200]);

	const failing = createPool({
		...{ adapter: brittleAdapter("/"), dataDir: temporaryDirectory() },
		...{ name: "broken", size: 1, output: { echo: "none" } },
	});
	const lookAtFailing = await probed(failing);
	await expect(failing).rejects.toMatchObject({ code: "WORKER_EXITED_EARLY" });
	expect(await lookAtFailing()).toEqual([503, 503, "START_FAILED"]);
	expect(await (await probed(() => []))()).toEqual([200, 503, "NO_POOL"]);
});
