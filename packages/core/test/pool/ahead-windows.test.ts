import { expect, test } from "vitest";
import { AheadWindows } from "../../src/pool/ahead-windows.ts";
import type { Call } from "../../src/pool/call.ts";
import type { CallAttempt } from "../../src/pool/call-attempt.ts";
import { VirtualClock } from "../../src/testing.ts";
import type { Worker } from "../../src/worker/worker.ts";

const worker = {
	ref: { incarnation: "i-1" },
	callsRunning: 1,
	callsTaken: 1,
	connection: { ahead: { admits: () => true } },
} as unknown as Worker;

function callOf(command: string): Call {
	return {
		command,
		work: { shape: "unary" },
		attempts: 0,
		timesTakenBack: 0,
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
