import {
	type Attributes,
	type Context,
	isSpanContextValid,
	type Link,
	ROOT_CONTEXT,
	type Span,
	type SpanContext,
} from "@opentelemetry/api";
import type { EventOf } from "@snakepit/core";
import {
	attributesOf,
	codeOf,
	lineOf,
	seconds,
	WANTED,
} from "../catalogue/events.ts";
import { SPANS } from "../catalogue/spans.ts";
import { within } from "./span-context.ts";
import {
	attributesOn,
	failed,
	linkTo,
	recordError,
	type Spans,
} from "./spans.ts";

interface Start {
	readonly span: Span;
	readonly context: Context;
	readonly begunMs: number;
	readonly pool: string;
	spawnedMs: number | undefined;
}

interface Stopped {
	readonly pool: string;
	readonly incarnation: string;
	readonly context: SpanContext;
}

interface Stop {
	readonly span: Span;
	readonly pool: string;
}

/** The spans of workers' starts and ends, with the pool's times. */
export class WorkerTraces {
	readonly #spans: Spans;
	readonly #lost: LostAttempts;
	readonly #recorded = new WeakSet<Error>();
	readonly #starts = new Map<string, Start>();
	readonly #stops = new Map<string, Stop>();
	/** Of the worker that ended last on each slot, until the slot is taken again: a successor may have taken it before. */
	readonly #stopped = new Map<string, Stopped>();

	constructor(spans: Spans, lost: LostAttempts) {
		this.#spans = spans;
		this.#lost = lost;
	}

	/** Whether the span of a start has it already: the start of a pool fails with the error of its worker. */
	hasRecorded(error: Error): boolean {
		return this.#recorded.has(error);
	}

	starting(event: EventOf<"worker.starting">, parent: Context): void {
		const { pool, incarnation, replaces, wallMs } = event;
		const span = this.#spans.start("worker start", {
			within: parent,
			atMs: wallMs,
			links: replaces === undefined ? [] : this.#causes(event, replaces),
			attributes: {
				...attributesOn("worker start", event),
				"snakepit.worker.start.attempt": event.attempt,
				...(replaces !== undefined && { "snakepit.worker.replaces": replaces }),
			},
		});
		this.#starts.set(incarnation, {
			span,
			context: within(span, parent),
			begunMs: wallMs,
			pool,
			spawnedMs: undefined,
		});
	}

	spawned({ incarnation, wallMs, pid }: EventOf<"worker.spawned">): void {
		const start = this.#starts.get(incarnation);
		if (start === undefined) return;
		start.span.setAttribute("process.pid", pid);
		start.spawnedMs = wallMs;
		this.#phase("worker spawn", start, start.begunMs, wallMs);
	}

	ready({ incarnation, wallMs, phases }: EventOf<"worker.ready">): void {
		const start = this.#take(incarnation);
		if (start === undefined) return;
		const spawnedMs = start.spawnedMs ?? start.begunMs + phases.spawnMs;
		const launchedMs = Math.max(spawnedMs, wallMs - phases.connectMs);
		this.#phase("worker launch", start, spawnedMs, launchedMs);
		this.#phase("worker connect", start, launchedMs, wallMs);
		start.span.end(wallMs);
	}

	startFailed(event: EventOf<"worker.start_failed">): void {
		const start = this.#take(event.incarnation);
		if (start === undefined) return;
		// A pool that closes withdraws starts that it has begun: that is not an error.
		const code = codeOf(event.error);
		if (code === "START_WITHDRAWN") start.span.setAttribute("error.type", code);
		else {
			this.#recorded.add(event.error);
			recordError(this.#spans, start.span, event.error);
		}
		start.span.end(event.wallMs);
	}

	/** Its stop was decided. */
	leaving(
		event: EventOf<"worker.retiring"> | EventOf<"worker.condemned">,
		parent: Context,
	): void {
		const { incarnation, pool, wallMs } = event;
		if (this.#stops.has(incarnation)) return;
		const reason =
			event.type === "worker.retiring" ? event.reason : event.message;
		const span = this.#spans.start("worker stop", {
			within: parent,
			atMs: wallMs,
			attributes: {
				...attributesOn("worker stop", event),
				"snakepit.reason": this.#spans.limits.text(reason),
			},
		});
		this.#stops.set(incarnation, { span, pool });
	}

	stopStep(event: EventOf<"worker.stop_step">): void {
		const stop = this.#stops.get(event.incarnation);
		if (stop === undefined) return;
		const attributes = attributesOn("stop step", event);
		this.#spans.event(stop.span, "stop step", attributes, event.wallMs);
	}

	exited(event: EventOf<"worker.exited">): void {
		const { incarnation, pool, reason, wallMs } = event;
		const span = this.#stops.get(incarnation)?.span ?? this.#death(event);
		if (span === undefined) return;
		this.#stops.delete(incarnation);
		const { limits } = this.#spans;
		const { "snakepit.worker.tail": tail, ...attributes } = attributesOf(
			event,
			SPANS["worker stop"].attributes,
		);
		span.setAttributes(attributes as Attributes);
		if (!WANTED.includes(reason)) {
			failed(span, reason, limits.text(lineOf(event)));
			if (tail !== undefined)
				span.setAttribute("snakepit.worker.tail", limits.value(tail));
		}
		for (const link of this.#failed(incarnation)) span.addLink(link);
		span.end(wallMs);
		const context = span.spanContext();
		this.#stopped.set(slotOf(event), { pool, incarnation, context });
	}

	/** The span of an end that was not decided; `undefined` if another span has it, or it is none to know of. */
	#death(event: EventOf<"worker.exited">): Span | undefined {
		const { reason, lifetimeMs, wallMs } = event;
		// The span of its start has the error.
		if (reason === "start_failed" || WANTED.includes(reason)) return undefined;
		return this.#spans.start("worker death", {
			within: ROOT_CONTEXT,
			atMs: wallMs,
			attributes: { "snakepit.worker.uptime": seconds(lifetimeMs) },
		});
	}

	/** Stops exporting for this pool. */
	forget(pool: string): void {
		for (const map of [this.#starts, this.#stops]) {
			for (const [incarnation, each] of map) {
				if (each.pool !== pool) continue;
				each.span.end();
				map.delete(incarnation);
			}
		}
		for (const [slot, each] of this.#stopped)
			if (each.pool === pool) this.#stopped.delete(slot);
	}

	/** The context of its events; the root context while it neither starts nor stops. */
	contextOf(incarnation: string): Context {
		const start = this.#starts.get(incarnation);
		if (start !== undefined) return start.context;
		const stop = this.#stops.get(incarnation);
		return stop === undefined ? ROOT_CONTEXT : within(stop.span, ROOT_CONTEXT);
	}

	/** Why a slot is taken again. */
	#causes(event: OnSlot, incarnation: string): readonly Link[] {
		const slot = slotOf(event);
		const last = this.#stopped.get(slot);
		const stopped = last?.incarnation === incarnation ? last : undefined;
		if (stopped !== undefined) this.#stopped.delete(slot);
		const links = [
			...(stopped === undefined
				? []
				: [linkTo(stopped.context, "stopped worker")]),
			...this.#failed(incarnation),
		];
		this.#lost.forget(incarnation);
		return links;
	}

	#failed(incarnation: string): readonly Link[] {
		return this.#lost
			.of(incarnation)
			.map((attempt) => linkTo(attempt, "failed attempt"));
	}

	#take(incarnation: string): Start | undefined {
		const start = this.#starts.get(incarnation);
		this.#starts.delete(incarnation);
		return start;
	}

	#phase(
		name: "worker spawn" | "worker launch" | "worker connect",
		start: Start,
		fromMs: number,
		toMs: number,
	): void {
		if (!start.span.isRecording()) return;
		this.#spans.start(name, { within: start.context, atMs: fromMs }).end(toMs);
	}
}

interface OnSlot {
	readonly pool: string;
	readonly workerId: string;
}

function slotOf({ pool, workerId }: OnSlot): string {
	return `${workerId} ${pool}`;
}

const PER_WORKER = 8;
const WORKERS = 256;

/** Attempts that failed with their worker, for links from its restart. Bounded; the oldest are dropped first. */
export class LostAttempts {
	readonly #byIncarnation = new Map<string, SpanContext[]>();

	note(incarnation: string, attempt: SpanContext): void {
		if (!isSpanContextValid(attempt)) return;
		const attempts = this.#byIncarnation.get(incarnation);
		if (attempts === undefined) {
			const [oldest] = this.#byIncarnation.keys();
			if (this.#byIncarnation.size >= WORKERS && oldest !== undefined)
				this.#byIncarnation.delete(oldest);
			this.#byIncarnation.set(incarnation, [attempt]);
		} else if (attempts.length < PER_WORKER) attempts.push(attempt);
	}

	of(incarnation: string): readonly SpanContext[] {
		return this.#byIncarnation.get(incarnation) ?? [];
	}

	forget(incarnation: string): void {
		this.#byIncarnation.delete(incarnation);
	}
}
