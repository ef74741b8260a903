import { context, type Span } from "@opentelemetry/api";
import type { EventOf } from "@snakepit/core";
import { failed, type Spans } from "./spans.ts";

/** The spans of jobs: each is a child of the span in which the job was created. */
export class JobTraces {
	readonly #spans: Spans;
	readonly #jobs = new Map<string, Span>();

	constructor(spans: Spans) {
		this.#spans = spans;
	}

	/** Called in the asynchronous context of its caller. */
	accepted({ jobId, program, wallMs }: EventOf<"job.accepted">): void {
		const span = this.#spans.start("job", {
			within: context.active(),
			of: program,
			atMs: wallMs,
			attributes: { "snakepit.job.id": jobId, "snakepit.job.program": program },
		});
		this.#jobs.set(jobId, span);
	}

	started({ jobId, pid }: EventOf<"job.started">): void {
		this.#jobs.get(jobId)?.setAttribute("process.pid", pid);
	}

	settled(event: EventOf<"job.settled">): void {
		const { jobId, outcome, code, exit, killer, wallMs } = event;
		const span = this.#jobs.get(jobId);
		if (span === undefined) return;
		this.#jobs.delete(jobId);
		span.setAttributes({
			"snakepit.job.outcome": outcome,
			"snakepit.worker.end.killer": killer,
			...(exit?.kind === "code" && { "process.exit.code": exit.code }),
			...(exit?.kind === "signal" && {
				"snakepit.worker.exit.signal": exit.signal,
			}),
		});
		if (code !== undefined) failed(span, code, `The job ${outcome}.`);
		span.end(wallMs);
	}
}
