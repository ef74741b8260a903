import { expect, test } from "vitest";
import { call } from "../support/calls.ts";
import { FakeWorker } from "../support/fake-worker.ts";

test("the call of a worker that takes one at a time leaves before its caller goes on", async () => {
	const worker = new FakeWorker({ callsAtOnce: 1 });
	const answer = call(worker.conversation, "echo", [1]);
	expect(worker.flushed).toBe(1);
	worker.result(1, 1);
	expect(await answer).toBe(1);
});

test("calls that a worker takes together may leave together", async () => {
	const worker = new FakeWorker({ callsAtOnce: 2 });
	const answers = [1, 2].map((value) =>
		call(worker.conversation, "echo", [value]),
	);
	expect(worker.heard).toHaveLength(2);
	expect(worker.flushed).toBe(0);
	for (const number of [1, 2]) worker.result(number, number);
	expect(await Promise.all(answers)).toEqual([1, 2]);
});
