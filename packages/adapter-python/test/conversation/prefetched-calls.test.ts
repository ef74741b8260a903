import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { RECALLED } from "@snakepit/core/adapter";
import { expect, onTestFinished, test } from "vitest";
import { CallPage } from "../../src/shared-memory/call-page.ts";
import { call } from "../support/calls.ts";
import { scratch } from "../support/fake-python.ts";
import { FakeWorker } from "../support/fake-worker.ts";

/** A worker that calls wait in; `begins` notes in its page which call it began last. */
function prefetchingWorker() {
	const path = join(scratch(), "calls");
	writeFileSync(path, Buffer.alloc(4096), { mode: 0o600 });
	const file = openSync(path, "r+");
	onTestFinished(() => closeSync(file));
	const worker = new FakeWorker({
		callsAtOnce: 1,
		callPage: CallPage.open(path) as CallPage,
	});
	const answers = ["a", "b", "c", "d"].map((callId) =>
		call(worker.conversation, "echo", [callId], { callId }),
	);
	const begins = (number: number): void => {
		writeSync(file, BigUint64Array.of(BigInt(number)), 0, 8, 0);
	};
	return { worker, answers, begins, prefetch: worker.conversation.prefetch };
}

test("calls behind one whose answer has come already are taken back", async () => {
	const { worker, answers, begins, prefetch } = prefetchingWorker();
	begins(3);
	// In one turn, as from one chunk: nothing has been told yet that they are over.
	worker.result(1, "a");
	worker.result(2, "b");
	expect(prefetch?.recall("b")).toEqual(new Set(["d"]));
	expect(await answers[3]).toBe(RECALLED);
	worker.result(3, "c");
	expect(await Promise.all(answers)).toEqual(["a", "b", "c", RECALLED]);
});

test("a call is taken back with those behind it, but not those before it", async () => {
	const { worker, answers, begins, prefetch } = prefetchingWorker();
	begins(1);
	expect(prefetch?.recall("c")).toEqual(new Set(["c", "d"]));
	for (const [number, value] of [
		[1, "a"],
		[2, "b"],
	] as const)
		worker.result(number, value);
	expect(await Promise.all(answers)).toEqual(["a", "b", RECALLED, RECALLED]);
});

test("after the end of the conversation those that had not begun are known", async () => {
	const { worker, answers, begins, prefetch } = prefetchingWorker();
	begins(2);
	worker.hangUp(new Error("gone"));
	expect(prefetch?.recall("b")).toEqual(new Set(["c", "d"]));
	const ends = await Promise.allSettled(answers);
	expect(ends).toMatchObject(
		["maybe", "maybe", "no", "no"].map((ran) => ({ reason: { ran } })),
	);
});
