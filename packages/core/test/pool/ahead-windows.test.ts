import { expect, test } from "vitest";
import type { Call } from "../../src/pool/calls/call.ts";
import type { CallAttempt } from "../../src/pool/calls/call-attempt.ts";
import { AheadWindows } from "../../src/pool/placement/prefetch-windows.ts";
import { VirtualClock } from "../../src/testing.ts";
import type { Worker } from "../../src/worker/worker.ts";

const worker = {
	ref: { incarnation: "i-1" },
	calls: { attempts: [{}], taken: 1 },
	connection: { ahead: { admits: () => true } },
} as unknown as Worker;

function callOf(command: string): Call {
	return {
		command,
		work: { shape: "unary" },
		attempts: 0,
		timesTakenBack: 0,
		state: { kind: "waiting" },
	} as unknown as Call;
}

/** Windows of one worker that has begun a call. */
function windows(): AheadWindows {
	const ahead = new AheadWindows({
		clock: new VirtualClock(),
		afterCalls: Number.POSITIVE_INFINITY,
		mayTake: () => true,
		onSlow: () => {},
	});
	ahead.began(worker, { worker, call: callOf("echo") } as CallAttempt);
	return ahead;
}

test("a tool is quick after a call that ran for a short time", () => {
	const ahead = windows();
	expect(ahead.admits(worker, callOf("echo"))).toBe(false);
	ahead.ended(worker, "echo", 0.2);
	expect(ahead.admits(worker, callOf("echo"))).toBe(true);
	ahead.ended(worker, "echo", 50);
	expect(ahead.admits(worker, callOf("echo"))).toBe(false);
});

test("nothing is known of a command whose calls did not run, such as one that does not exist", () => {
	const ahead = windows();
	ahead.ended(worker, "no_such_tool", undefined);
	expect(ahead.admits(worker, callOf("no_such_tool"))).toBe(false);
});

/** Two workers, each with a call, and what was reported to be slow. */
function twoWorkers() {
	const clock = new VirtualClock();
	const slow: Worker[] = [];
	const ahead = new AheadWindows({
		clock,
		afterCalls: Number.POSITIVE_INFINITY,
		mayTake: () => true,
		onSlow: (each) => slow.push(each),
	});
	const [one, other] = ["i-1", "i-2"].map((incarnation) => ({
		ref: { incarnation },
		calls: { attempts: [1], taken: 1 },
		connection: { ahead: { admits: () => true } },
	})) as unknown as [Worker, Worker];
	for (const each of [one, other])
		ahead.began(each, {
			worker: each,
			call: callOf("echo"),
			startedMs: 0,
		} as CallAttempt);
	const add = (each: Worker, priority = 0): void =>
		ahead.add({
			worker: each,
			call: { ...callOf("echo"), priority },
		} as CallAttempt);
	return { ahead, clock, slow, one, other, add };
}

test("a worker has less urgent calls than a new one as long as one waits in it", () => {
	const { ahead, one, other, add } = twoWorkers();
	expect(ahead.lessUrgentThan(9)).toBeUndefined();
	add(one, 3);
	expect(ahead.lessUrgentThan(3)).toBeUndefined();
	expect(ahead.lessUrgentThan(4)).toBe(one);
	expect(ahead.lessUrgentThan(4, one)).toBe(one);
	expect(ahead.lessUrgentThan(4, other)).toBeUndefined();
	add(other, 1);
	expect(ahead.lessUrgentThan(2)).toBe(other);
	expect(ahead.lessUrgentThan(2, one)).toBeUndefined();
	expect(ahead.lessUrgentThan(4, other)).toBe(other);
	expect(ahead.clear(one)).toHaveLength(1);
	expect(ahead.clear(other)).toHaveLength(1);
	expect(ahead.lessUrgentThan(9)).toBeUndefined();
	expect(ahead.size).toBe(0);
});

test("calls that wait behind one that has run for 2 ms had better run elsewhere", async () => {
	const { clock, slow, one, other, add, ahead } = twoWorkers();
	add(other);
	await clock.advance(1.9);
	expect(slow).toEqual([]);
	await clock.advance(0.1);
	// No call waits in the other one.
	expect(slow).toEqual([other]);
	ahead.clear(other);
	await clock.advance(10);
	expect(slow).toEqual([other]);
	expect(clock.pending()).toBe(0);
	add(one);
	await clock.advance(2);
	expect(slow).toEqual([other, one]);
});

test("the calls of the worker with the most of them are worth moving, if they are half a millisecond of work", () => {
	const { ahead, one, other, add } = twoWorkers();
	ahead.ended(one, "echo", 0.2);
	expect(ahead.worthMoving()).toBeUndefined();
	for (const each of [one, other, other]) add(each);
	expect(ahead.worthMoving()).toBeUndefined();
	add(other);
	expect(ahead.worthMoving()).toBe(other);
});

test("a worker has room for four calls at first, none after they were taken back, and more with each call that ends", () => {
	const { ahead, one, add } = twoWorkers();
	expect(ahead.hasRoom(one)).toBe(false);
	ahead.ended(one, "echo", 0.2);
	ahead.next(one);
	expect(ahead.hasRoom(one)).toBe(true);
	for (let n = 0; n < 5; n++) {
		expect(ahead.hasRoom(one)).toBe(true);
		add(one);
	}
	expect(ahead.hasRoom(one)).toBe(false);
	ahead.clear(one);
	expect(ahead.hasRoom(one)).toBe(false);
	ahead.ended(one, "echo", 0.2);
	ahead.next(one);
	expect(ahead.hasRoom(one)).toBe(true);
	ahead.forget(one);
	expect(ahead.hasRoom(one)).toBe(false);
});
