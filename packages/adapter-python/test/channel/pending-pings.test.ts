import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { PendingPings } from "../../src/channel/frame-channel.ts";
import type { PingAnswer } from "../../src/frames/frames.ts";
import { failureOf } from "../support/calls.ts";

const answer = (sequence: number): PingAnswer => ({
	sequence,
	callsRunning: 0,
});

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** Asks once, and has the ping over as `end` says; returns what must not stay. */
async function askAndEnd(
	pings: PendingPings,
	sequence: number,
	end: (abort: AbortController) => void,
): Promise<WeakRef<AbortSignal>> {
	const abort = new AbortController();
	const { signal } = abort;
	const asked = pings.ask(sequence, signal, () => {});
	end(abort);
	await asked.catch(() => {});
	expect(getEventListeners(signal, "abort")).toEqual([]);
	return new WeakRef(signal);
}

test.each<[string, (pings: PendingPings, abort: AbortController) => void]>([
	["answered", (pings) => pings.answered(answer(7))],
	["aborted", (_, abort) => abort.abort()],
	["failed", (pings) => pings.fail(new Error("the channel was closed"))],
])("nothing is held of a ping that was %s", async (_, end) => {
	const pings = new PendingPings();
	const signal = await askAndEnd(pings, 7, (abort) => end(pings, abort));
	// In the turn in which it was made, what a WeakRef points to stays.
	await new Promise(setImmediate);
	collectGarbage();
	expect(signal.deref()).toBe(undefined);
	// It is in use until here.
	pings.fail(new Error("the end"));
});

test("each waits for its own answer, and an answer that nothing waits for is dropped", async () => {
	const pings = new PendingPings();
	const never = new AbortController().signal;
	const sent: number[] = [];
	const ask = (sequence: number): Promise<PingAnswer> =>
		pings.ask(sequence, never, () => sent.push(sequence));
	const [first, second, third] = [ask(1), ask(2), failureOf(ask(3))];
	expect(sent).toEqual([1, 2, 3]);
	pings.answered(answer(9));
	pings.answered(answer(2));
	pings.answered(answer(1));
	expect((await first).sequence).toBe(1);
	expect((await second).sequence).toBe(2);
	const error = new Error("the connection ended");
	pings.fail(error);
	expect(await third).toBe(error);
});

test("a ping whose time is over already is not sent", async () => {
	const reason = new Error("too late");
	const asked = new PendingPings().ask(1, AbortSignal.abort(reason), () =>
		expect.unreachable(),
	);
	expect(await failureOf(asked)).toBe(reason);
});
