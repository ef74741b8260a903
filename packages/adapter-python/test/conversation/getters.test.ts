import { describe, expect, test } from "vitest";
import { call, failureOf, streamOf } from "../support/calls.ts";
import { FakeWorker } from "../support/fake-worker.ts";

/** Arguments whose own code acts while they are read. */
function acting(act: () => void): object {
	return {
		get value() {
			act();
			return 1;
		},
	};
}

describe("a getter in the arguments of a call", () => {
	for (const how of ["breaks", "closes", "leaves"] as const)
		test(`that ${how} the conversation gets the call refused: nothing is sent, and it settles`, async () => {
			const worker = new FakeWorker();
			const { conversation } = worker;
			const end = {
				breaks: () => worker.hangUp(new Error("gone")),
				closes: () => void conversation[Symbol.asyncDispose](),
				leaves: () => void conversation.leave(new AbortController().signal),
			};
			const refused = call(conversation, "echo", acting(end[how]));
			expect(await failureOf(refused)).toMatchObject({
				name: "ConnectionBrokenError",
				ran: "no",
			});
			expect(worker.all("call")).toEqual([]);
		});

	test("that aborts it has it refused before it is sent", async () => {
		const worker = new FakeWorker();
		const abort = new AbortController();
		const args = acting(() => abort.abort());
		const { signal } = abort;
		for (const refused of [
			call(worker.conversation, "echo", args, { signal }),
			streamOf(worker.conversation, "many", args, { signal }).next(),
		])
			expect(await failureOf(refused)).toMatchObject({
				code: "CALL_ABORTED",
				ran: "no",
			});
		expect(worker.all("call")).toEqual([]);
	});

	test("that leaves its own stream has it cancelled", async () => {
		const worker = new FakeWorker();
		const stream: AsyncIterator<unknown> = streamOf(
			worker.conversation,
			"many",
			acting(() => void stream.return?.()),
		);
		const first = stream.next();
		expect(worker.all("cancel")).toMatchObject([{ callId: 1 }]);
		worker.fail(1);
		expect(await first).toEqual({ done: true, value: undefined });
	});
});
