import { expect, test } from "vitest";
import { WorkerLostError } from "../../src/contract/errors.ts";
import { RunningCalls } from "../../src/worker/running-calls.ts";
import { Call } from "./worker-scenes.ts";

const lost = (): WorkerLostError =>
	new WorkerLostError({ code: "WORKER_EXITED", ran: "maybe", message: "gone" });

/** The calls of a worker that got these, one after the other, of which all run. */
function running(...commands: string[]): {
	readonly calls: RunningCalls;
	readonly attempts: readonly Call[];
} {
	const calls = new RunningCalls();
	const attempts = commands.map((command) => new Call(command, command));
	for (const attempt of attempts) calls.add(attempt);
	return { calls, attempts };
}

test("of a worker that loses calls, the one that ran longest is named: others may have been prefetched", () => {
	const { calls, attempts } = running("quick", "sleep", "nap");
	calls.remove(attempts[0] as Call, "answered");
	calls.lose(lost);
	expect(calls.lastCommand).toBe("sleep");
	calls.lose(lost);
	expect(calls.lastCommand).toBe("sleep");
	expect(calls.lost).toBe(2);
});

test("of a worker that ends between calls, the last one is named", () => {
	const { calls, attempts } = running("first", "second");
	for (const attempt of attempts) calls.remove(attempt, "answered");
	calls.lose(lost);
	expect(calls.lastCommand).toBe("second");
});

test("a call that is not there takes no other away", () => {
	const calls = new RunningCalls();
	const [there, gone] = [new Call("c1"), new Call("c2")] as const;
	calls.add(there);
	expect(calls.remove(gone, "answered")).toBe(false);
	expect(calls.attempts).toEqual([there]);
	expect(calls.remove(there, "answered")).toBe(true);
	expect(calls.attempts).toEqual([]);
});
