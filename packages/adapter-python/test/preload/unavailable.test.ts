import { EventRecorder } from "@snakepit/core/testing";
import { expect, test } from "vitest";
import { rows } from "../../../../scripts/test-effort.ts";
import { testPool } from "../../../../scripts/test-pool.ts";
import {
	openPreloaded,
	preloaded,
	toolsOf,
} from "../support/preloaded-pool.ts";

// Each verdict has its row in test_fork_safety.py.
test.each(
	rows(
		[
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
				"FORK_UNSAFE_FILES",
				"import tempfile\nscratch = tempfile.TemporaryFile()",
			],
			[
				"FORK_UNSAFE_CUDA",
				'import sys, types\ncuda = types.SimpleNamespace(is_initialized=lambda: True)\nsys.modules["torch"] = types.SimpleNamespace(cuda=cuda)',
			],
		] as const,
		([code]) => code === "FORK_UNSAFE_THREADS",
	),
)(
	"%s: the workers start by themselves, and an event says why",
	async (code, source) => {
		const { pool, events } = await openPreloaded({ tools: toolsOf(source) });
		expect(events.of("preload.unavailable")).toMatchObject([
			{ code, pool: "python" },
		]);
		const sources = events.of("worker.spawned").map((each) => each.source);
		expect(sources).toHaveLength(2);
		expect(sources).not.toContain("preload");
		expect(await pool.execute("one")).toBe(1);
	},
);

test("tools that cannot be imported fail as they do without a parent", async () => {
	const events = new EventRecorder();
	await expect(
		testPool({
			adapter: preloaded({ tools: toolsOf('raise ValueError("no")') }),
			start: { maxRestarts: 0 },
			onEvent: events.record,
		}),
	).rejects.toMatchObject({ code: "TOOLS_IMPORT_FAILED" });
	expect(events.of("preload.unavailable")).toMatchObject([
		{ code: "PRELOAD_FAILED", reason: expect.stringContaining("ValueError") },
	]);
});

test.each(
	rows(
		[
			["waits", "time.sleep(600)"],
			["holds Python's lock in C", "ctypes.PyDLL(None).sleep(600)"],
		] as const,
		([how]) => how !== "waits",
	),
)(
	"an import that %s leaves workers that start by themselves, and its stack in the reason",
	{ timeout: 60_000 },
	async (_how, hang) => {
		const source = `import ctypes, sys, time\nif "preload" in sys.argv:\n    ${hang}`;
		const options = { tools: toolsOf(source) };
		// Long enough for a worker on a busy machine.
		const { pool, events } = await openPreloaded(options, 1, {
			timeoutMs: 6_000,
		});
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
	const { pool, events } = await openPreloaded({ tools: toolsOf(source) }, 1);
	expect(events.of("preload.unavailable")).toMatchObject([
		{
			code: "WORKER_EXITED_EARLY",
			reason: expect.stringMatching(/Its last lines:\n {2}\| no licence$/),
		},
	]);
	expect(await pool.execute("one")).toBe(1);
});
