import { type Context, ROOT_CONTEXT, type Span } from "@opentelemetry/api";
import type { EventOf } from "@snakepit/core";
import type { Spans } from "./spans.ts";

/** The spans of a run: its clean-up, and the actions of protections before it. */
export class RunTrace {
	readonly #spans: Spans;
	readonly #cleanups = new Map<string, Span>();

	constructor(spans: Spans) {
		this.#spans = spans;
	}

	cleanupStarted(event: EventOf<"cleanup.started">, parent: Context): void {
		const { runId, wallMs } = event;
		const span = this.#spans.start("cleanup", {
			within: parent,
			atMs: wallMs,
			attributes: { "snakepit.run.id": runId },
		});
		this.#cleanups.set(runId, span);
	}

	cleanupFinished(event: EventOf<"cleanup.finished">): void {
		const span = this.#cleanups.get(event.runId);
		if (span === undefined) return;
		this.#cleanups.delete(event.runId);
		span.setAttributes({
			"snakepit.cleanup.dead_runs": event.deadRuns,
			"snakepit.cleanup.found": event.found,
			"snakepit.cleanup.killed": event.killed,
			"snakepit.cleanup.spared": event.spared,
		});
		span.end(event.wallMs);
	}

	orphan(event: EventOf<"orphan.reaped"> | EventOf<"orphan.spared">): void {
		for (const span of this.#cleanups.values()) {
			if (event.type === "orphan.reaped")
				this.#spans.event(
					span,
					"orphan reaped",
					{
						"process.pid": event.pid,
						"snakepit.run.of": event.ofRun,
						"snakepit.orphan.end": event.how,
						"snakepit.found_by": event.foundBy,
					},
					event.wallMs,
				);
			else
				this.#spans.event(
					span,
					"orphan spared",
					{
						"process.pid": event.pid,
						"snakepit.run.of": event.ofRun,
						"snakepit.reason": event.reason,
					},
					event.wallMs,
				);
		}
	}

	/** With the original times, before this program started. */
	settled(event: EventOf<"protection.run_settled">): void {
		this.#spans
			.start("protection settle", {
				within: ROOT_CONTEXT,
				atMs: event.wallMs - event.durationMs,
				attributes: {
					"snakepit.protection.name": event.protection,
					"snakepit.run.of": event.ofRun,
					"snakepit.protection.killed": event.killed,
				},
			})
			.end(event.wallMs);
	}
}
