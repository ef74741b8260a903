import { expect, test } from "vitest";
import { workerSnapshot } from "../../../../control/test/fake-run.ts";
import { bytes, duration } from "../../../src/wording/figures.ts";
import {
	recycleWords,
	workerStatus,
} from "../../../web/model/worker-status.ts";

const call = {
	...{ callId: "c1", command: "a", forMs: 1, sessionId: null },
	...{ cancelled: false, attempt: 1, waitedMs: 0, failedAttempts: [] },
	...{ usual: null, reportedMs: null },
};
const silent = (status: string, silentMs: number, missedInARow: number) =>
	workerSnapshot({
		running: [call],
		heartbeat: { status, silentMs, missedInARow },
	});

test.each([
	[workerSnapshot(), "idle", "good"],
	[workerSnapshot({ running: [call] }), "busy", "active"],
	[workerSnapshot({ state: "starting" }), "starting", "quiet"],
	[workerSnapshot({ state: "exited" }), "exited", "bad"],
	[silent("healthy", 9_000, 0), "busy", "active"],
	[silent("suspect", 3_000, 1), "suspect", "warn"],
	[silent("suspect", 5_100, 2), "hung", "bad"],
	[silent("hung", 10_000, 5), "hung", "bad"],
	[silent("busy", 10_000, 5), "busy", "active"],
] as const)("%o is %s", (worker, word, tone) => {
	expect(workerStatus(worker)).toMatchObject({ word, tone });
});

test("what limits a worker's life is counted down", () => {
	const words = (recycle: ReturnType<typeof workerSnapshot>["recycle"]) =>
		recycleWords(workerSnapshot({ recycle }), { duration, bytes });
	expect(words({ inMs: 90_000, inCalls: 1, aboveResidentBytes: 2e9 })).toBe(
		"in 1 min 30 s or in 1 call or above 2.00 GB",
	);
	expect(
		words({ inMs: null, inCalls: null, aboveResidentBytes: null }),
	).toBeUndefined();
});
