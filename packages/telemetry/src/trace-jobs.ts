import type { SnakepitListener } from "@snakepit/core";
import { Drops } from "./drops.ts";
import { Limits } from "./limits.ts";
import { JobTraces } from "./trace/job-traces.ts";
import { Spans } from "./trace/spans.ts";

/**
 * Exports a span for each job of a run that has no pool, through the registered provider:
 * `openRun({ onEvent: traceJobs() })`. In a run that a pool with `telemetry()` shares, jobs have spans already.
 */
export function traceJobs(): SnakepitListener {
	const drops = new Drops();
	const jobs = new JobTraces(new Spans(undefined, new Limits(drops), drops));
	return (event) =>
		drops.guard("tracer_threw", () => {
			if (event.type === "job.accepted") jobs.accepted(event);
			else if (event.type === "job.started") jobs.started(event);
			else if (event.type === "job.settled") jobs.settled(event);
		});
}
