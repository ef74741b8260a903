import { expect, test } from "vitest";
import { afterRunning, pause, withDeadline } from "../../src/deadline.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** When `afterRunning` of so many milliseconds acts, if `meanwhile` happens after `atMs`. */
async function actsAt(
	ms: number,
	atMs: number,
	meanwhile: (clock: VirtualClock) => void,
): Promise<number | undefined> {
	const clock = new VirtualClock();
	let acted: number | undefined;
	const timer = afterRunning(clock, ms, () => {
		acted = clock.now();
	});
	await clock.advance(atMs);
	meanwhile(clock);
	await clock.advance(1_000_000);
	timer.cancel();
	expect(clock.pending()).toBe(0);
	return acted;
}

test.each([0, 1, 499, 500, 501, 2_250, 30_000])(
	"in a program that runs, %i ms are as long as they are",
	async (ms) => {
		expect(await actsAt(ms, 0, () => {})).toBe(ms);
	},
);

test.each([
	{ ms: 30_000, atMs: 10_200, acts: 60_000 + 30_000 + 200 },
	{ ms: 100, atMs: 50, acts: 50 + 60_000 + 100 },
	{ ms: 2_250, atMs: 2_100, acts: 2_100 + 60_000 + 250 },
])(
	"a minute in which the program stands still is none of the $ms ms",
	async ({ ms, atMs, acts }) => {
		expect(await actsAt(ms, atMs, (clock) => clock.stall(60_000))).toBe(acts);
	},
);

test("a short delay of the program counts", async () => {
	expect(await actsAt(10_000, 4_900, (clock) => clock.stall(400))).toBe(10_300);
});

test("a wait that is cancelled acts no more", async () => {
	const clock = new VirtualClock();
	const timer = afterRunning(clock, 10_000, () => expect.unreachable());
	await clock.advance(5_000);
	timer.cancel();
	await clock.advance(10_000);
	expect(clock.pending()).toBe(0);
});

/** A wait of a second for a promise that the test settles, and what came of it. */
function wait(controller: AbortController = new AbortController()) {
	const clock = new VirtualClock();
	const { promise, resolve, reject } = Promise.withResolvers<string>();
	const deadline = { clock, ms: 1_000, signal: controller.signal };
	const outcome = withDeadline(promise, deadline, () => {
		throw new Error("late");
	}).catch(({ message }: Error) => message);
	const abort = (): void => controller.abort(new Error("aborted"));
	return { clock, resolve, reject, abort, outcome };
}

test.each<[string, (waiting: ReturnType<typeof wait>) => void, number, string]>(
	[
		["resolves in time", ({ resolve }) => resolve("value"), 0, "value"],
		["rejects in time", ({ reject }) => reject(new Error("own")), 0, "own"],
		["is late", () => {}, 1_000, "late"],
		["is not wanted any more", ({ abort }) => abort(), 0, "aborted"],
	],
)(
	"a promise that %s has that outcome, and no timer is left",
	async (_, act, ms, expected) => {
		const waiting = wait();
		act(waiting);
		await waiting.clock.advance(ms);
		expect(await waiting.outcome).toBe(expected);
		expect(waiting.clock.pending()).toBe(0);
	},
);

test("what was aborted before is not awaited", async () => {
	const controller = new AbortController();
	controller.abort(new Error("before"));
	const { clock, outcome } = wait(controller);
	expect(await outcome).toBe("before");
	expect(clock.pending()).toBe(0);
});

test("a pause ends after its time, or when it is aborted", async () => {
	const clock = new VirtualClock();
	await clock.advanceUntil(pause(clock, 200));
	expect(clock.now()).toBe(200);
	const reason = new Error("closed");
	await expect(pause(clock, 200, AbortSignal.abort(reason))).rejects.toBe(
		reason,
	);
});
