import {
	type Context,
	context,
	propagation,
	ROOT_CONTEXT,
} from "@opentelemetry/api";
import type { SnakepitEvent } from "@snakepit/core";
import type {
	AcceptedCall,
	CallInstrument,
	CallMeasures,
	InstrumentedPool,
	ObservedPool,
	PoolInstrument,
	UnfollowedCall,
} from "@snakepit/core/instrument";
import { EVENTS } from "./catalogue/events.ts";
import type { Drops } from "./drops.ts";
import type { EventLog } from "./logs/event-log.ts";
import type { EventMetrics } from "./metrics/event-metrics.ts";
import type { Observations } from "./metrics/observations.ts";
import type { Registration } from "./registration.ts";
import type { Switches } from "./switches.ts";
import { CallTrace } from "./trace/call-trace.ts";
import { headersOf } from "./trace/headers.ts";
import type { JobTraces } from "./trace/job-traces.ts";
import type { LostAttempts } from "./trace/lost-attempts.ts";
import { PoolTrace } from "./trace/pool-trace.ts";
import type { RunTrace } from "./trace/run-trace.ts";
import type { Spans } from "./trace/spans.ts";
import { unfollowed, unsampled } from "./trace/unsampled.ts";
import type { WorkerTraces } from "./trace/worker-traces.ts";

/** What all pools of one telemetry share. */
export interface TelemetryParts {
	readonly on: Switches;
	readonly drops: Drops;
	readonly spans: Spans;
	readonly lost: LostAttempts;
	readonly workers: WorkerTraces;
	readonly run: RunTrace;
	readonly jobs: JobTraces;
	readonly metrics: EventMetrics;
	readonly measuresOf: (pool: string) => CallMeasures;
	/** Decides whether a call may be traced, before the SDK decides. */
	readonly mayTrace: (command: string, within: Context) => boolean;
	readonly observations: Observations;
	readonly log: EventLog;
	/** Events of a run that were already exported: every pool of the run receives them. */
	readonly exported: WeakSet<SnakepitEvent>;
	readonly registration: Registration;
	/** Makes the SDK send its buffered data. */
	readonly flush: () => Promise<void>;
}

/** Exports one pool. */
export class PoolTelemetry implements PoolInstrument {
	readonly measure: CallMeasures;
	readonly #parts: TelemetryParts;
	readonly #trace: PoolTrace | undefined;
	readonly #report: InstrumentedPool["report"];
	#observed: ObservedPool | undefined;

	constructor(parts: TelemetryParts, pool: InstrumentedPool) {
		this.#parts = parts;
		this.#report = pool.report;
		const { drops, metrics, on } = parts;
		this.measure = parts.measuresOf(pool.name);
		this.#trace = on("process")
			? drops.guard("tracer_threw", () => new PoolTrace(parts, pool))
			: undefined;
		drops.guard("meter_threw", () => metrics.begin(pool.name));
	}

	watch(pool: ObservedPool): void {
		this.#observed = pool;
		this.#parts.observations.add(pool);
	}

	hear(event: SnakepitEvent): void {
		const { on, drops, metrics, log, exported } = this.#parts;
		const place = EVENTS[event.type];
		this.#lookAtRegistration();
		if (!on(place.group)) return;
		if (event.type === "listener.threw") drops.count("listener_threw");
		const isOfRun = !("pool" in event);
		if (isOfRun) {
			if (exported.has(event)) return;
			exported.add(event);
		}
		const trace = this.#trace;
		const where: Context =
			drops.guard("tracer_threw", () =>
				isOfRun ? trace?.hearOfRun(event) : trace?.hear(event),
			) ?? ROOT_CONTEXT;
		drops.guard("meter_threw", () =>
			isOfRun ? metrics.hearOfRun(event) : metrics.hear(event),
		);
		drops.guard("logger_threw", () => log.hear(event, where));
	}

	accept(call: AcceptedCall): CallInstrument | UnfollowedCall | undefined {
		const { drops, spans, lost, mayTrace } = this.#parts;
		if (spans.isSilent && isAlone(call)) return undefined;
		return drops.guard("tracer_threw", () => {
			const parent = parentOf(call);
			if (!mayTrace(call.command, parent)) return unsampled(parent);
			const traced = new CallTrace(spans, lost, call, parent);
			return traced.isRecording
				? traced
				: unfollowed(headersOf(traced.context));
		});
	}

	#lookAtRegistration(): void {
		const { registration, metrics, spans } = this.#parts;
		const problem = registration.look({ meters: metrics, spans });
		if (problem === undefined) return;
		this.#report(problem);
		// Without this, a program that has no listener for events, and whose telemetry fails, would not notice.
		process.emitWarning(`${problem.message} ${problem.remedy}`, {
			type: "SnakepitWarning",
			code: "SNAKEPIT_TELEMETRY_MISCONFIGURED",
		});
	}

	flush(): Promise<void> {
		return this.#parts.flush();
	}

	detach(): void {
		if (this.#observed !== undefined)
			this.#parts.observations.remove(this.#observed);
		this.#parts.drops.guard("tracer_threw", () => this.#trace?.detach());
	}
}

/** Whether the call has no trace context. */
function isAlone({ traceContext }: AcceptedCall): boolean {
	if (context.active() !== ROOT_CONTEXT) return false;
	for (const _ in traceContext) return false;
	return true;
}

function parentOf({ traceContext }: AcceptedCall): Context {
	const active = context.active();
	for (const _ in traceContext)
		return propagation.extract(active, traceContext);
	return active;
}
