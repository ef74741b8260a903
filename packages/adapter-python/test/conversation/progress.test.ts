import type { CallProgress } from "@snakepit/core/adapter";
import { expect, test } from "vitest";
import type { HostFrame } from "../../src/frames/frames.ts";
import { call, failureOf } from "../support/calls.ts";
import { FakeWorker } from "../support/fake-worker.ts";

/** A call that takes its reports when the test says so. */
function reportingCall(worker: FakeWorker, signal?: AbortSignal) {
	const taken = Promise.withResolvers<void>();
	const reports: CallProgress[] = [];
	const answer = call(worker.conversation, "one", undefined, {
		...(signal && { signal }),
		onProgress: (progress) => {
			reports.push(progress);
			return taken.promise;
		},
	});
	const report = (fraction: number): void =>
		worker.say({
			kind: "progress",
			callId: 1,
			fraction,
			message: "",
		});
	return { answer, reports, report, taken };
}

const receipts = ({ heard }: FakeWorker): readonly HostFrame[] =>
	heard.filter(({ kind }) => kind === "progressCredit");

test("a call asks for reports, and asks for the next one when the last was taken", async () => {
	const worker = new FakeWorker();
	const { answer, reports, report, taken } = reportingCall(worker);
	expect(worker.heard[0]).toMatchObject({ wantsProgress: true });
	report(0.5);
	await Promise.resolve();
	expect(receipts(worker)).toEqual([]);
	taken.resolve();
	await Promise.resolve();
	expect(receipts(worker)).toMatchObject([{ callId: 1 }]);
	expect(reports).toEqual([{ fraction: 0.5, message: "" }]);
	worker.result(1, "answer");
	expect(await answer).toBe("answer");
	expect(worker.brokenBy).toEqual([]);
});

test("a call that is over asks for no report", async () => {
	const worker = new FakeWorker();
	const { answer, report, taken } = reportingCall(worker);
	report(0.5);
	worker.result(1, "answer");
	await answer;
	taken.resolve();
	await Promise.resolve();
	expect(receipts(worker)).toEqual([]);
});

test("reports of a call that is cancelled are dropped", async () => {
	const worker = new FakeWorker();
	const abort = new AbortController();
	const { answer, reports, report } = reportingCall(worker, abort.signal);
	const failure = failureOf(answer);
	abort.abort();
	report(0.5);
	worker.fail(1, "CANCELLED");
	expect(await failure).toMatchObject({ code: "CALL_ABORTED" });
	expect(reports).toEqual([]);
});
