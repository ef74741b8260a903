import fc from "fast-check";
import { expect, test } from "vitest";
import { callOptions } from "../support/calls.ts";
import { FakeWorker } from "../support/fake-worker.ts";

const CALLS = 4;

/** What may happen to a call, in any order and any number of times. */
type Happening =
	| "abort"
	| "result"
	| "chunk"
	| "end"
	| "fail"
	| "cancelled"
	| "credit"
	| "next"
	| "return"
	| "break"
	| "leave"
	| "dispose";

const happenings = fc.array(
	fc.tuple(
		fc.constantFrom<Happening>(
			...([
				"abort",
				"result",
				"chunk",
				"end",
				"fail",
				"cancelled",
				"credit",
				"next",
				"return",
			] as const),
			...([
				"abort",
				"result",
				"chunk",
				"end",
				"fail",
				"cancelled",
				"next",
				"return",
			] as const),
			...(["break", "leave", "dispose"] as const),
		),
		fc.nat(CALLS - 1),
	),
	{ maxLength: 40 },
);

test("every call settles exactly once, whatever happens and in whatever order", async () => {
	await fc.assert(
		fc.asyncProperty(happenings, async (order) => {
			const worker = new FakeWorker({ streamCredit: 2 });
			const aborts = Array.from({ length: CALLS }, () => new AbortController());
			const settlements = Array.from({ length: CALLS }, () => 0);
			const steps: Promise<unknown>[] = [];
			const streams = aborts.map(({ signal }, i) => {
				const options = callOptions({
					signal,
					input: i % 3 === 0 ? [1, 2, 3] : undefined,
				});
				if (i % 2 === 0) {
					const count = () => {
						settlements[i] = (settlements[i] ?? 0) + 1;
					};
					steps.push(
						worker.conversation.execute("one", {}, options).then(count, count),
					);
					return undefined;
				}
				const stream = worker.conversation.stream("many", {}, options);
				steps.push(stream.next().catch(() => {}));
				return stream;
			});
			for (const [what, i] of order) {
				const callId = i + 1;
				if (what === "abort") aborts[i]?.abort();
				else if (what === "result" && i % 2 === 0) worker.result(callId, what);
				else if (what === "chunk" && i % 2 === 1) worker.chunk(callId, what);
				else if (what === "end" && i % 2 === 1) worker.end(callId);
				else if (what === "fail") worker.fail(callId);
				else if (what === "cancelled") worker.fail(callId, "CANCELLED");
				else if (what === "credit")
					worker.say({ kind: "inputCredit", callId, chunks: 1 });
				else if (what === "next")
					steps.push(streams[i]?.next().catch(() => {}) ?? Promise.resolve());
				else if (what === "return")
					steps.push(streams[i]?.return?.() ?? Promise.resolve());
				else if (what === "break") worker.hangUp(new Error("broken"));
				else if (what === "leave")
					steps.push(worker.conversation.leave(new AbortController().signal));
				else if (what === "dispose")
					steps.push(worker.conversation[Symbol.asyncDispose]());
				await null;
			}
			worker.hangUp(new Error("the end"));
			await Promise.all(steps);
			expect(settlements).toEqual(
				settlements.map((_, i) => (i % 2 === 0 ? 1 : 0)),
			);
			expect(worker.brokenBy.length).toBeLessThanOrEqual(1);
			for (const stream of streams) {
				while (
					stream &&
					!(await stream.next().catch(() => ({ done: false }))).done
				);
			}
		}),
		{ numRuns: 500 },
	);
});
