import { bucketOf, type ServedTick } from "@snakepit/control";
import { expect, test } from "vitest";
import { RecentlyEnded } from "../../src/live/recent-calls.ts";
import { recentLines } from "../../src/live/top-view.ts";

/** Half a second in which these calls ended. */
function halfSecond(
	recent: RecentlyEnded,
	durations: readonly number[] = [],
	sent: readonly number[] = durations,
): void {
	for (const totalMs of sent)
		recent.event({ type: "call.settled", wallMs: 1, pool: "p", totalMs });
	const ended = { pool: "p", command: "read", succeeded: durations.length };
	const totalMs = durations.map((ms) => [bucketOf(ms), 1] as const);
	recent.tick({
		tickMs: 500,
		throughput:
			durations.length === 0 ? [] : [{ ...ended, failed: 0, totalMs }],
	} as unknown as ServedTick);
}

const shown = (recent: RecentlyEnded, running = 1) =>
	recentLines(recent.of("p"), running).join();

test("of few long calls, the number and the exact durations of the last minute are shown", () => {
	const recent = new RecentlyEnded();
	expect(shown(recent)).toBe("");
	recent.tick({ tickMs: 0, throughput: [] } as unknown as ServedTick);
	expect(shown(recent)).toBe("");
	halfSecond(recent);
	expect(shown(recent)).toBe("last 0.5 s: no call has ended");
	expect(shown(recent, 0)).toBe("");
	for (const ms of [4_321, 1_234, 2_345]) {
		halfSecond(recent, [ms]);
		for (let n = 0; n < 29; n++) halfSecond(recent);
	}
	expect(shown(recent)).toBe("last 46 s: 3 calls, median 2.3 s, longest 4.3 s");
	for (let n = 0; n < 200; n++) halfSecond(recent);
	expect(shown(recent)).toBe("last 60 s: no call has ended");
});

test("of many calls, those of the last ten seconds, to a few percent", () => {
	const recent = new RecentlyEnded();
	for (let n = 0; n < 60; n++) halfSecond(recent, Array(100).fill(50), []);
	for (let n = 0; n < 20; n++)
		halfSecond(recent, [...Array(99).fill(10), 200], []);
	const { windowMs, ended, medianMs = 0, most99Ms = 0 } = recent.of("p") ?? {};
	expect([windowMs, ended]).toEqual([10_000, 2_000]);
	expect(Math.abs(medianMs / 10 - 1)).toBeLessThan(0.05);
	expect(Math.abs(most99Ms / 10 - 1)).toBeLessThan(0.05);
	expect(shown(recent)).toMatch(
		/^last 10 s: 200 calls\/s, median [\d.]+ ms, 99 % within [\d.]+ ms$/,
	);
});
