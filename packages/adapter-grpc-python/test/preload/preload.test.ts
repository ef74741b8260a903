import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
	createPool,
	type Pool,
	type PoolOptions,
	type SnakepitEvent,
} from "@snakepit/core";
import { EventRecorder } from "@snakepit/core/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import {
	PYTHON,
	toolsFile,
} from "../../../adapter-python/test/support/pythons.ts";
import {
	NdArray,
	type PythonGrpcOptions,
	pythonGrpc,
} from "../../src/index.ts";
import { DETAIL_TRANSPORTS } from "../support/bench.ts";

interface Facts {
	readonly pid: number;
	readonly importedIn: number;
	readonly startedIn: number;
	readonly session: number;
	readonly shown: Readonly<Record<string, string>>;
	readonly slot: string;
	readonly threads: string;
	readonly kept: string;
	readonly chance: readonly number[];
}

function directory(): string {
	const path = mkdtempSync(join(tmpdir(), "snakepit-preload-"));
	onTestFinished(() => rmSync(path, { recursive: true, force: true }));
	return path;
}

/** A pool of two; closed when the test is finished. */
async function open(
	options: Partial<PythonGrpcOptions> = {},
	size = 2,
	start: PoolOptions["start"] = {},
): Promise<{ readonly pool: Pool; readonly events: EventRecorder }> {
	const events = new EventRecorder();
	const dataDir = directory();
	const pool = await createPool({
		adapter: pythonGrpc({
			python: PYTHON,
			tools: toolsFile("preloaded.py"),
			preload: "tools",
			...options,
		}),
		size,
		dataDir,
		start,
		output: { echo: "none" },
		onEvent: events.record,
	});
	onTestFinished(() => pool.close({ drainMs: 0 }));
	return { pool, events };
}

/** Tools of one test's own. */
function tools(source: string): string {
	const path = join(directory(), "tools_of_a_test.py");
	writeFileSync(
		path,
		`${source}\nfrom snakepit_bridge import tool\n@tool\ndef one() -> int:\n    return 1\n`,
	);
	return path;
}

/** Both workers say their facts: a strict session each. */
async function factsOfAll(pool: Pool, size = 2): Promise<readonly Facts[]> {
	const found = new Map<number, Facts>();
	while (found.size < size) {
		const facts = await Promise.all(
			Array.from({ length: size }, () => pool.execute("facts")),
		);
		for (const each of facts as Facts[]) found.set(each.pid, each);
	}
	return [...found.values()];
}

function next<Type extends SnakepitEvent["type"]>(
	pool: Pool,
	type: Type,
): Promise<SnakepitEvent & { readonly type: Type }> {
	return new Promise((resolve) => {
		const stop = pool.on(type, (event) => {
			stop();
			resolve(event as SnakepitEvent & { readonly type: Type });
		});
	});
}

describe.each(DETAIL_TRANSPORTS)("over %s", (transport) => {
	test("workers are forked from what was imported once, and each is a process of its own", async () => {
		const { pool, events } = await open({
			transport,
			env: ({ index }) => ({ SEAT: String(index) }),
			threadsPerWorker: 2,
		});
		const [started] = events.of("preload.started");
		const spawned = events.of("worker.spawned");
		expect(spawned.map(({ source }) => source)).toEqual(["preload", "preload"]);
		const all = await factsOfAll(pool);
		for (const facts of all) {
			const { incarnation } =
				spawned.find(({ pid }) => pid === facts.pid) ?? {};
			expect(facts).toMatchObject({
				importedIn: started?.pid,
				startedIn: facts.pid,
				session: facts.pid,
				threads: "2",
				kept: "kept",
				shown: {
					SNAKEPIT_RUN: expect.stringContaining(
						`${incarnation?.split("-")[0]}:`,
					),
					SNAKEPIT_WORKER: incarnation,
				},
			});
		}
		expect(all.map(({ slot }) => slot).sort()).toEqual(["0", "1"]);
		// Nobody has another's random numbers.
		expect(new Set(all.flatMap(({ chance }) => chance)).size).toBe(4);
	});

	test("its exit is reported at once, and its output lines are its own", async () => {
		const { pool } = await open({ transport }, 1);
		const line = next(pool, "worker.output");
		await pool.execute("say", ["here"]);
		expect(await line).toMatchObject({
			line: "here",
			workerId: "grpc-python-0",
		});
		for (const [end, exit] of [
			[() => pool.execute("leave_with", [7]), { kind: "code", code: 7 }],
			[
				async () => process.kill(pool.workers()[0]?.pid ?? 0, "SIGSEGV"),
				{ kind: "signal", signal: "SIGSEGV" },
			],
		] as const) {
			const exited = next(pool, "worker.exited");
			const ready = next(pool, "worker.ready");
			await end().catch(() => {});
			expect(await exited).toMatchObject({ exit });
			await ready;
		}
	});

	test("large values go through shared memory", async () => {
		const { pool } = await open({ transport }, 1);
		const data = new Float64Array(100_000).fill(21);
		const result = await pool.execute("twice", [
			new NdArray("float64", [100_000], data),
		]);
		expect((result as NdArray).data[99_999]).toBe(42);
	});

	test("when the parent is killed, calls settle and the next workers have another", async () => {
		const { pool, events } = await open({ transport });
		const [parent] = events.of("preload.started");
		const call = pool.execute("sleeps");
		const failed = expect(call).rejects.toMatchObject({
			code: "WORKER_EXITED",
			ran: "maybe",
		});
		const ended = next(pool, "preload.ended");
		const again = next(pool, "preload.started");
		process.kill(parent?.pid ?? 0, "SIGKILL");
		expect(await ended).toMatchObject({
			how: "lost",
			exit: { kind: "signal", signal: "SIGKILL" },
		});
		await failed;
		const second = await again;
		expect(second.restarts).toBe(1);
		for (const facts of await factsOfAll(pool))
			expect(facts.importedIn).toBe(second.pid);
	});
});

test("by default four workers are forked from a parent that has imported nothing of theirs", async () => {
	const { pool, events } = await open({ preload: "auto" }, 4);
	const sources = events.of("worker.spawned").map(({ source }) => source);
	expect(sources).toEqual(Array(4).fill("preload"));
	for (const { importedIn, pid, shown } of await factsOfAll(pool, 4)) {
		expect(importedIn).toBe(pid);
		expect(shown["SNAKEPIT_WORKER"]).toBe(
			pool.workers().find((worker) => worker.pid === pid)?.incarnation,
		);
	}
});

test("by default fewer workers start by themselves, and nothing is said about it", async () => {
	const { events } = await open({ preload: "auto" }, 3);
	const sources = events.of("worker.spawned").map(({ source }) => source);
	expect(sources).toEqual(["node", "node", "node"]);
	expect(events.of("preload.unavailable")).toEqual([]);
});

test("only the named modules are imported once, and the tools by each worker", async () => {
	const { pool } = await open({ preload: { modules: ["numpy"] } });
	for (const facts of await factsOfAll(pool))
		expect(facts.importedIn).toBe(facts.pid);
});

test.each([
	[
		"FORK_UNSAFE_THREADS",
		"import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
	],
	[
		"FORK_UNSAFE_GRPC",
		'import grpc\nchannel = grpc.insecure_channel("unix:/nowhere")',
	],
	[
		"FORK_UNSAFE_CONNECTIONS",
		"import socket\nconnections = socket.socketpair()",
	],
	[
		"FORK_UNSAFE_CUDA",
		'import sys, types\ncuda = types.SimpleNamespace(is_initialized=lambda: True)\nsys.modules["torch"] = types.SimpleNamespace(cuda=cuda)',
	],
])(
	"%s: the workers start by themselves, and an event says why",
	async (code, source) => {
		const { pool, events } = await open({ tools: tools(source) });
		expect(events.of("preload.unavailable")).toMatchObject([
			{ code, pool: "grpc-python" },
		]);
		expect(events.of("worker.spawned").map((each) => each.source)).toEqual([
			"node",
			"node",
		]);
		expect(await pool.execute("one")).toBe(1);
	},
);

test("tools that cannot be imported fail as they do without a parent", async () => {
	const events = new EventRecorder();
	await expect(
		createPool({
			adapter: pythonGrpc({
				python: PYTHON,
				tools: tools('raise ValueError("no")'),
				preload: "tools",
			}),
			size: 1,
			dataDir: directory(),
			start: { maxRestarts: 0 },
			output: { echo: "none" },
			onEvent: events.record,
		}),
	).rejects.toMatchObject({ code: "TOOLS_IMPORT_FAILED" });
	expect(events.of("preload.unavailable")).toMatchObject([
		{ code: "PRELOAD_FAILED", reason: expect.stringContaining("ValueError") },
	]);
});

test.each([
	["waits", "time.sleep(600)"],
	["holds Python's lock in C", "ctypes.PyDLL(None).sleep(600)"],
])(
	"an import that %s leaves workers that start by themselves, and its stack in the reason",
	{ timeout: 60_000 },
	async (_how, hang) => {
		const source = `import ctypes, sys, time\nif "preload" in sys.argv:\n    ${hang}`;
		const options = { tools: tools(source) };
		// Long enough for a worker on a busy machine.
		const { pool, events } = await open(options, 1, { timeoutMs: 6_000 });
		const reason = expect.stringMatching(
			/not ready within 6000 ms.*most recent call first.*tools_of_a_test\.py", line 3/s,
		);
		expect(events.of("preload.unavailable")).toMatchObject([
			{ code: "START_TIMEOUT", reason },
		]);
		expect(await pool.execute("one")).toBe(1);
	},
);

test("a module that ends its process at import leaves workers that start by themselves", async () => {
	const source =
		'import os, sys\nif "preload" in sys.argv:\n    print("no licence", file=sys.stderr)\n    os._exit(3)';
	const { pool, events } = await open({ tools: tools(source) }, 1);
	expect(events.of("preload.unavailable")).toMatchObject([
		{
			code: "WORKER_EXITED_EARLY",
			reason: expect.stringMatching(/Its last lines:\n {2}\| no licence$/),
		},
	]);
	expect(await pool.execute("one")).toBe(1);
});

test("a parent that is lost again and again is given up", async () => {
	const { pool, events } = await open({}, 1);
	for (let loss = 0; loss < 5; loss++) {
		const ready = next(pool, "worker.ready");
		process.kill(events.of("preload.started").at(-1)?.pid ?? 0, "SIGKILL");
		await ready;
	}
	expect(events.of("preload.unavailable")).toMatchObject([
		{ code: "PRELOAD_LOST" },
	]);
	const { importedIn, pid } = (await pool.execute("facts")) as Facts;
	expect(importedIn).toBe(pid);
});
