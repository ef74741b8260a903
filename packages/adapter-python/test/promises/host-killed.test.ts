import { existsSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { rounds, rows } from "../../../../scripts/test-effort.ts";
import { marked, startHost, untilNothingIsLeft } from "./host-process.ts";

const program = new URL("./host.ts", import.meta.url);
const SIZE = 2;
/** What workers do when their host is killed; one more is idle. */
const OCCUPATIONS = ["sleep", "busy_loop", "hold_the_gil", "stop_itself"];
/** What the issue allows; the usual time is some milliseconds. */
const GONE_MS = 1_000;

describe.each<[string, object]>([
	["started by themselves", {}],
	["forked from a preloaded parent", { preload: "tools" }],
])("workers %s", (_how, adapter) => {
	test("kill -9 of the host leaves nothing: of workers that are idle, sleep, run a busy loop, hold Python's lock in C, are stopped, each with a child that ignores SIGTERM", {
		timeout: 120_000,
	}, async () => {
		const host = startHost(program, {
			dataDir: temporaryDirectory(),
			size: 1 + OCCUPATIONS.length,
			first: "with_a_child",
			afterwards: OCCUPATIONS,
			adapter,
		});
		const runId = (await host.reported("runId")) as string;
		await host.reported("ready");
		expect(marked(runId).length).toBeGreaterThanOrEqual(
			2 * (1 + OCCUPATIONS.length),
		);
		await host.kill();
		await untilNothingIsLeft(runId, GONE_MS);
	});

	test.skipIf(!existsSync("/dev/shm"))(
		"kill -9 of the host while large values cross leaves no file in shared memory",
		{ timeout: 120_000 },
		async () => {
			const host = startHost(program, {
				dataDir: temporaryDirectory(),
				size: SIZE,
				echoed: 5_000_000,
				adapter,
			});
			const runId = (await host.reported("runId")) as string;
			await host.reported("ready");
			await host.kill();
			await untilNothingIsLeft(runId, GONE_MS);
			const own = readdirSync("/dev/shm").filter((name) =>
				name.includes(runId),
			);
			expect(own).toHaveLength(1);
			const left = readdirSync(`/dev/shm/${own[0]}`, {
				recursive: true,
				withFileTypes: true,
			});
			expect(left.filter((entry) => !entry.isDirectory())).toEqual([]);
		},
	);

	test("kill -9 of the host leaves nothing while workers start, whenever it comes", {
		timeout: 300_000,
	}, async () => {
		const kills = rounds(6, 2);
		for (let round = 0; round < kills; round++) {
			const host = startHost(program, {
				dataDir: temporaryDirectory(),
				size: SIZE,
				adapter,
			});
			const runId = (await host.reported("runId")) as string;
			if (round > 0) await host.reported("spawned");
			// Somewhere between the spawn and ready, each round a little later.
			const afterMs = (round * 480) / kills;
			await new Promise((resolve) => setTimeout(resolve, afterMs));
			await host.kill();
			await untilNothingIsLeft(runId, GONE_MS);
		}
	});
});

test.each(
	rows(
		[
			["at once", 0],
			["host last", 30],
			["host first", -30],
		] as const,
		([how]) => how === "host last",
	),
)(
	"kill -9 of the preloaded parent and the host leaves nothing: %s",
	{ timeout: 120_000 },
	async (_how, apartMs) => {
		const host = startHost(program, {
			dataDir: temporaryDirectory(),
			size: SIZE,
			first: "with_a_child",
			adapter: { preload: "tools" },
		});
		const runId = (await host.reported("runId")) as string;
		const parent = (await host.reported("preloaded")) as number;
		await host.reported("ready");
		const kills = [
			() => void process.kill(parent, "SIGKILL"),
			() => void host.child.kill("SIGKILL"),
		];
		if (apartMs < 0) kills.reverse();
		kills[0]?.();
		// Into what the first one sets off: no event tells of it.
		if (apartMs !== 0)
			await new Promise((resolve) => setTimeout(resolve, Math.abs(apartMs)));
		try {
			kills[1]?.();
		} catch (error) {
			expect(error).toMatchObject({ code: "ESRCH" }); // It has died of the first.
		}
		await untilNothingIsLeft(runId, GONE_MS);
	},
);
