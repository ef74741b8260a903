import { expect, test } from "vitest";
import type { Call } from "../../src/pool/calls/call.ts";
import { queueFull, timedOut } from "../../src/pool/calls/call-errors.ts";

test.each([
	[99.4, "100 ms"], // A timer of Node may ring a little early.
	[100, "100 ms"],
	[5_100.2, "5100 ms"],
])(
	"a deadline of 100 ms that is noticed after %d ms is reported as passed after %s",
	(noticedMs, reported) => {
		const call = {
			callId: "c1",
			command: "sum",
			acceptedMs: 20,
			deadlineMs: 120,
			begun: 0,
			state: { kind: "running" },
			work: { shape: "unary" },
		} as Partial<Call> as Call;
		const { message } = timedOut("p", call, 20 + noticedMs);
		expect(message).toContain(`passed its deadline after ${reported}`);
	},
);

test("a full queue is counted in the right number", () => {
	expect(queueFull("demo", 1, 1).message).toContain(
		"1 call is waiting (queue.limit) and 1 is running",
	);
	expect(queueFull("demo", 2, 0).message).toContain(
		"2 calls are waiting (queue.limit) and 0 are running",
	);
});
