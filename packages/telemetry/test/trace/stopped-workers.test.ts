import { ROOT_CONTEXT } from "@opentelemetry/api";
import type { EventOf } from "@snakepit/core";
import { expect, test } from "vitest";
import { heldBytes } from "../../../../scripts/held-bytes.ts";
import { Drops, Limits } from "../../src/limits.ts";
import { Spans } from "../../src/trace/spans.ts";
import { LostAttempts, WorkerTraces } from "../../src/trace/worker-traces.ts";

const RECYCLES = 50_000;
const about = { pool: "tools", workerId: "tools-0", pid: 7, wallMs: 1 };

const error = new Error("on purpose");

/** One worker is replaced again and again: each successor starts before its predecessor ends. */
function recycle(workers: WorkerTraces, from: number): void {
	for (let at = from; at < from + RECYCLES; at++) {
		const [old, next] = [`run1234-${at}`, `run1234-${at + 1}`];
		workers.starting(
			{
				...about,
				incarnation: next,
				replaces: old,
				type: "worker.starting",
				attempt: 1,
			} as EventOf<"worker.starting">,
			ROOT_CONTEXT,
		);
		workers.startFailed({
			...about,
			incarnation: next,
			type: "worker.start_failed",
			error,
		} as EventOf<"worker.start_failed">);
		workers.leaving(
			{
				...about,
				incarnation: old,
				type: "worker.retiring",
				reason: "calls",
			} as EventOf<"worker.retiring">,
			ROOT_CONTEXT,
		);
		workers.exited({
			type: "worker.exited",
			...about,
			incarnation: old,
			reason: "recycled",
			tail: [] as readonly string[],
		} as EventOf<"worker.exited">);
	}
}

test("of workers that were replaced while they lived nothing is held", () => {
	const drops = new Drops();
	const spans = new Spans(undefined, new Limits(drops), drops);
	const workers = new WorkerTraces(spans, new LostAttempts());
	recycle(workers, 0);
	const before = heldBytes();
	recycle(workers, RECYCLES);
	// One entry takes more than this.
	expect((heldBytes() - before) / RECYCLES).toBeLessThan(20);
	workers.forget("tools"); // It is in use until here.
});
