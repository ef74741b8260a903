import { expect, test } from "vitest";
import {
	freshDirectory,
	marked,
	startHost,
	untilNothingIsLeft,
} from "./host-process.ts";

const program = new URL("./host.ts", import.meta.url);
const SIZE = 2;
/** What the issue allows; the usual time is some milliseconds. */
const GONE_MS = 1_000;

test.each([
	["is idle", {}],
	["has a child in its group that ignores SIGTERM", { first: "with_a_child" }],
	["sleeps", { afterwards: "sleep" }],
	["runs a busy loop", { afterwards: "busy_loop" }],
	["holds Python's lock in C", { afterwards: "hold_the_gil" }],
	["is stopped", { afterwards: "stop_itself" }],
])(
	"kill -9 of the host leaves nothing when a worker %s",
	{ timeout: 120_000 },
	async (_how, orders) => {
		const host = startHost(program, {
			dataDir: freshDirectory(),
			size: SIZE,
			...orders,
		});
		const runId = (await host.told("runId")) as string;
		await host.told("ready");
		expect(marked(runId).length).toBeGreaterThanOrEqual(SIZE);
		await host.kill();
		await untilNothingIsLeft(runId, GONE_MS);
	},
);

test("kill -9 of the host leaves nothing while workers start, whenever it comes", {
	timeout: 300_000,
}, async () => {
	for (let round = 0; round < 6; round++) {
		const host = startHost(program, { dataDir: freshDirectory(), size: SIZE });
		const runId = (await host.told("runId")) as string;
		if (round > 0) await host.told("spawned");
		// Somewhere between the spawn and ready, each round a little later.
		await new Promise((resolve) => setTimeout(resolve, round * 80));
		await host.kill();
		await untilNothingIsLeft(runId, GONE_MS);
	}
});
