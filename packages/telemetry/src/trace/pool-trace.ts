import {
	type Context,
	context,
	ROOT_CONTEXT,
	type Span,
} from "@opentelemetry/api";
import type { EventOf, SnakepitEvent, SnakepitListener } from "@snakepit/core";
import type { InstrumentedPool } from "@snakepit/core/instrument";
import { Drops, Limits } from "../limits.ts";
import { SUPPRESS_TRACING } from "./late-span.ts";
import { within } from "./span-context.ts";
import {
	attributesOn,
	failed,
	noteError,
	recordError,
	Spans,
	variablesOf,
} from "./spans.ts";
import type { WorkerTraces } from "./worker-traces.ts";

interface PoolTraceParts {
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
				this.#failStart(event.error);
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
			case "run.found_dead":
				run.foundDead(event);
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

	#failStart(error: Error): void {
		if (this.#start === undefined) return;
		const record = this.#parts.workers.hasRecorded(error)
			? noteError
			: recordError;
		record(this.#parts.spans, this.#start, error);
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
			attributes: attributesOn("cleanup", event),
		});
		this.#cleanups.set(runId, span);
	}

	cleanupFinished(event: EventOf<"cleanup.finished">): void {
		const span = this.#cleanups.get(event.runId);
		if (span === undefined) return;
		this.#cleanups.delete(event.runId);
		span.setAttributes(attributesOn("cleanup", event));
		span.end(event.wallMs);
	}

	foundDead(event: EventOf<"run.found_dead">): void {
		const { limits } = this.#spans;
		const attributes = attributesOn("run found dead", event);
		const message = attributes["exception.message"];
		for (const span of this.#cleanups.values())
			this.#spans.event(
				span,
				"run found dead",
				{
					...attributes,
					...(message !== undefined && {
						"exception.message": limits.text(String(message)),
					}),
				},
				event.wallMs,
			);
	}

	orphan(event: EventOf<"orphan.reaped"> | EventOf<"orphan.spared">): void {
		const name =
			event.type === "orphan.reaped" ? "orphan reaped" : "orphan spared";
		const attributes = attributesOn(name, event);
		for (const span of this.#cleanups.values())
			this.#spans.event(span, name, attributes, event.wallMs);
	}

	/** With the original times, before this program started. */
	settled(event: EventOf<"protection.run_settled">): void {
		this.#spans
			.start("protection settle", {
				within: ROOT_CONTEXT,
				atMs: event.wallMs - event.durationMs,
				attributes: attributesOn("protection settle", event),
			})
			.end(event.wallMs);
	}
}

/** The spans of jobs: each is a child of the span in which the job was created. */
export class JobTraces {
	readonly #spans: Spans;
	readonly #jobs = new Map<
		string,
		{ readonly span: Span; readonly context: Context }
	>();

	constructor(spans: Spans) {
		this.#spans = spans;
	}

	/** That of the job, until it has ended; the root context for others. */
	contextOf(jobId: string): Context {
		return this.#jobs.get(jobId)?.context ?? ROOT_CONTEXT;
	}

	/** Called in the asynchronous context of its caller. */
	accepted(event: EventOf<"job.accepted">): void {
		const { jobId, program, wallMs } = event;
		const parent = context.active();
		const span = this.#spans.start("job", {
			within: parent,
			of: program,
			atMs: wallMs,
			attributes: attributesOn("job", event),
		});
		this.#jobs.set(jobId, { span, context: within(span, parent) });
	}

	started({ jobId, pid }: EventOf<"job.started">): void {
		this.#jobs.get(jobId)?.span.setAttribute("process.pid", pid);
	}

	settled(event: EventOf<"job.settled">): void {
		const { jobId, outcome, code, wallMs } = event;
		const { span } = this.#jobs.get(jobId) ?? {};
		if (span === undefined) return;
		this.#jobs.delete(jobId);
		span.setAttributes(attributesOn("job", event));
		if (code !== undefined) failed(span, code, `The job ${outcome}.`);
		span.end(wallMs);
	}
}

/** The context in which no instrumentation that keeps to the SDK's convention makes a span. */
const UNOBSERVED = ROOT_CONTEXT.setValue(SUPPRESS_TRACING, true);

/** Runs work of Snakepit's own, which is not the program's. */
export function unobserved<T>(run: () => T): T {
	return context.with(UNOBSERVED, run);
}

/**
 * Exports a span for each job of a run that has no pool, through the registered provider:
 * `openRun({ onEvent: traceJobs() })`. Each program gets the context of its span as `TRACEPARENT`. In a run that a pool with `telemetry()` shares, jobs have spans already.
 */
export function traceJobs(): SnakepitListener {
	const drops = new Drops();
	const jobs = new JobTraces(new Spans(undefined, new Limits(drops), drops));
	const listener = (event: SnakepitEvent): void =>
		drops.guard("tracer_threw", () => {
			if (event.type === "job.accepted") jobs.accepted(event);
			else if (event.type === "job.started") jobs.started(event);
			else if (event.type === "job.settled") jobs.settled(event);
		});
	return Object.assign(listener, {
		environment: (jobId: string) => variablesOf(jobs.contextOf(jobId)),
		unobserved,
	});
}
