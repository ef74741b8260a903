import {
	type Context,
	context,
	ROOT_CONTEXT,
	type Span,
} from "@opentelemetry/api";
import type { SnakepitEvent } from "@snakepit/core";
import type { InstrumentedPool } from "@snakepit/core/instrument";
import { recordError } from "./exceptions.ts";
import type { JobTraces } from "./job-traces.ts";
import type { RunTrace } from "./run-trace.ts";
import { type Spans, within } from "./spans.ts";
import type { WorkerTraces } from "./worker-traces.ts";

export interface PoolTraceParts {
	readonly spans: Spans;
	readonly workers: WorkerTraces;
	readonly run: RunTrace;
	readonly jobs: JobTraces;
}

/** The spans of one pool's life. Worker starts and clean-up within its start are children of it. */
export class PoolTrace {
	readonly #parts: PoolTraceParts;
	readonly #pool: InstrumentedPool;
	/** Until the start has succeeded or failed: a span ends once. */
	#start: Span | undefined;
	/** The span of the present phase: the start, the end, or none. */
	#now: Context;
	#close: Span | undefined;

	/** Called in the asynchronous context of `createPool`. */
	constructor(parts: PoolTraceParts, pool: InstrumentedPool) {
		this.#parts = parts;
		this.#pool = pool;
		const parent = context.active();
		const start = parts.spans.start("pool start", {
			within: parent,
			attributes: {
				"snakepit.pool.name": pool.name,
				"snakepit.adapter": pool.adapter,
			},
		});
		this.#start = start;
		this.#now = within(start, parent);
	}

	/** @returns the context in which the event happened, for its log record. */
	hear(event: SnakepitEvent): Context {
		const { workers } = this.#parts;
		switch (event.type) {
			case "pool.started":
				this.#start?.setAttribute("snakepit.pool.workers", event.workers);
				return this.#endStart();
			case "pool.start_failed":
				if (this.#start !== undefined)
					recordError(this.#parts.spans, this.#start, event.error);
				return this.#endStart();
			case "pool.closing":
				this.#closing(event.wallMs, event.drainMs);
				return this.#now;
			case "pool.closed":
				this.#close?.setAttribute("snakepit.pool.cut_short", event.cutShort);
				this.#close?.end(event.wallMs);
				this.#close = undefined;
				return this.#now;
			case "worker.starting":
				workers.starting(event, this.#now);
				return workers.contextOf(event.incarnation);
			case "worker.spawned":
				workers.spawned(event);
				return workers.contextOf(event.incarnation);
			case "worker.ready":
				return this.#then(event.incarnation, () => workers.ready(event));
			case "worker.start_failed":
				return this.#then(event.incarnation, () => workers.startFailed(event));
			case "worker.retiring":
			case "worker.condemned":
				workers.leaving(event, this.#now);
				return workers.contextOf(event.incarnation);
			case "worker.stop_step":
				workers.stopStep(event);
				return workers.contextOf(event.incarnation);
			case "worker.exited":
				return this.#then(event.incarnation, () => workers.exited(event));
			default:
				return this.#now;
		}
	}

	/** For an event of the run, which several pools receive; one of them exports it. */
	hearOfRun(event: SnakepitEvent): Context {
		const { run, jobs } = this.#parts;
		switch (event.type) {
			case "cleanup.started":
				run.cleanupStarted(event, this.#now);
				break;
			case "cleanup.finished":
				run.cleanupFinished(event);
				break;
			case "orphan.reaped":
			case "orphan.spared":
				run.orphan(event);
				break;
			case "job.accepted":
				jobs.accepted(event);
				break;
			case "job.started":
				jobs.started(event);
				break;
			case "job.settled":
				jobs.settled(event);
				break;
			case "protection.run_settled":
				run.settled(event);
				return ROOT_CONTEXT;
		}
		return this.#now;
	}

	/** Stops exporting. */
	detach(): void {
		this.#start?.end();
		this.#close?.end();
		this.#parts.workers.forget(this.#pool.name);
	}

	#then(incarnation: string, end: () => void): Context {
		const context = this.#parts.workers.contextOf(incarnation);
		end();
		return context;
	}

	#endStart(): Context {
		const during = this.#now;
		this.#start?.end();
		this.#start = undefined;
		this.#now = ROOT_CONTEXT;
		return during;
	}

	#closing(wallMs: number, drainMs: number): void {
		const parent = context.active();
		this.#close = this.#parts.spans.start("pool close", {
			within: parent,
			atMs: wallMs,
			attributes: {
				"snakepit.pool.name": this.#pool.name,
				"snakepit.pool.drain_time": drainMs / 1_000,
			},
		});
		this.#now = within(this.#close, parent);
	}
}
