import { expect, test } from "vitest";
import type { CallOutcome } from "../../src/contract/events.ts";
import { RecentCalls } from "../../src/pool/observe/recent-calls.ts";

class Calls {
	readonly outcomes: Record<CallOutcome, number> = {
		...{ succeeded: 0, failed: 0, aborted: 0, timed_out: 0 },
	};
	readonly recent: RecentCalls = new RecentCalls(this.outcomes);

	end(
		nowMs: number,
		outcome: CallOutcome,
		code?: "QUEUE_FULL" | "CALL_ABORTED",
	): void {
		this.recent.ends(nowMs);
		this.outcomes[outcome]++;
		if (outcome === "succeeded") return;
		const error = { code: code ?? ("TOOL_FAILED" as const), message: "No." };
		this.recent.failed("query", error, outcome);
	}

	counts(nowMs: number): readonly number[] {
		const { ended, failed } = this.recent.view(nowMs);
		return [ended, failed];
	}
}

test("the calls of the last minute are counted, and no older ones, however long none ended", () => {
	const calls = new Calls();
	expect(calls.recent.view(0)).toEqual({
		...{ windowMs: 60_000, ended: 0, failed: 0, last: null },
	});
	for (let second = 0; second < 120; second++) {
		calls.end(second * 1_000, "succeeded");
		calls.end(second * 1_000, second % 4 === 0 ? "failed" : "succeeded");
	}
	expect(calls.counts(120_000)).toEqual([110, 13]);
	expect(calls.counts(150_000)).toEqual([50, 6]);
	expect(calls.recent.view(200_000)).toMatchObject({ ended: 0, last: null });
	calls.end(300_000, "timed_out");
	expect(calls.recent.view(300_000)).toMatchObject({
		...{ ended: 1, failed: 1 },
		last: { command: "query", code: "TOOL_FAILED", message: "No." },
	});
});

test("calls that were aborted, or that a full queue refused, are not counted", () => {
	const calls = new Calls();
	calls.end(0, "aborted", "CALL_ABORTED");
	calls.end(0, "failed", "QUEUE_FULL");
	calls.end(1, "succeeded");
	expect(calls.recent.view(2)).toMatchObject({
		ended: 1,
		failed: 0,
		last: null,
	});
	calls.end(6_000, "failed", "QUEUE_FULL");
	expect(calls.counts(6_000)).toEqual([1, 0]);
	calls.end(7_000, "failed");
	calls.end(7_000, "aborted", "CALL_ABORTED");
	calls.end(7_000, "failed", "QUEUE_FULL");
	expect(calls.recent.view(7_000).last).toMatchObject({ code: "TOOL_FAILED" });
});
