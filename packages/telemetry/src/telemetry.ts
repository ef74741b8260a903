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
	Instrument,
	InstrumentedPool,
	InstrumentProblem,
	ObservedPool,
	PoolInstrument,
	UnfollowedCall,
} from "@snakepit/core/instrument";
import type { LayerReport } from "@snakepit/core/protection";
import { EVENTS } from "./catalogue/events.ts";
import { inspectExports } from "./doctor.ts";
import { type Exceptions, exceptionSignals } from "./exceptions.ts";
import { ExportWatch } from "./export-watch.ts";
import { Drops, Limits } from "./limits.ts";
import { EventLog } from "./logs.ts";
import {
	CallMetrics,
	type CallMetricsParts,
	NO_MEASURES,
} from "./metrics/call-metrics.ts";
import { registeredCallHistograms } from "./metrics/call-metrics-reader.ts";
import { EventMetrics } from "./metrics/event-metrics.ts";
import { Meters } from "./metrics/meters.ts";
import { Observations, Sightings } from "./metrics/observations.ts";
import {
	type ResolvedTelemetryOptions,
	resolveOptions,
	type Switches,
	switchesOf,
	type TelemetryOptions,
} from "./options.ts";
import { flush, Registration } from "./registration.ts";
import { CallTraces } from "./trace/call-trace.ts";
import {
	JobTraces,
	PoolTrace,
	RunTrace,
	unobserved,
} from "./trace/pool-trace.ts";
import { Spans, variablesOf } from "./trace/spans.ts";
import { LostAttempts, WorkerTraces } from "./trace/worker-traces.ts";

/**
 * Exports traces, metrics and logs with OpenTelemetry: traces from the caller through the queue into the worker,
 * metrics, and events as log records. Does nothing if no SDK is registered; register one before the first
 * `createPool`, otherwise `telemetry.misconfigured` reports what is lost.
 *
 * `createPool({ adapter, instruments: [telemetry()] })`. One can serve several pools.
 *
 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`.
 */
export function telemetry(options: TelemetryOptions = {}): Instrument {
	return new Telemetry(resolveOptions(options));
}

class Telemetry implements Instrument {
	readonly #options: ResolvedTelemetryOptions;
	readonly #on: Switches;
	/** Created with the first pool: by then, the SDK is registered, if there is one. */
	#parts: TelemetryParts | undefined;

	constructor(options: ResolvedTelemetryOptions) {
		this.#options = options;
		this.#on = switchesOf(options);
	}

	inspect(): Promise<LayerReport> {
		return inspectExports(this.#options);
	}

	attach(pool: InstrumentedPool): PoolInstrument {
		if (!this.#options.enabled) return { hear: () => {} };
		this.#parts ??= makeParts(this.#options, this.#on);
		return new PoolTelemetry(this.#parts, pool);
	}
}

/** What all pools of one telemetry share. */
type TelemetryParts = ReturnType<typeof makeParts>;

function makeParts(options: ResolvedTelemetryOptions, on: Switches) {
	const { commands } = options;
	const drops = new Drops();
	const limits = new Limits(drops, options.redact);
	const meters = new Meters(options.meterProvider, on);
	drops.countWith((reason) =>
		meters.count("snakepit.telemetry.dropped", 1, {
			"snakepit.drop.reason": reason,
		}),
	);
	const sightings = new Sightings();
	const observations = new Observations(sightings, limits);
	meters.observe((report) =>
		drops.guard("meter_threw", () => observations.look(report)),
	);
	const recorder = recorderOfCalls(options, meters, drops);
	const log = new EventLog(
		options.loggerProvider,
		limits,
		options.workerLogs,
		exceptionSignals(),
	);
	const exceptions: Exceptions = {
		signals: log.signals,
		log: (...record) => drops.guard("logger_threw", () => log.log(...record)),
	};
	const spans = new Spans(options.tracerProvider, limits, drops, exceptions);
	const lost = new LostAttempts();
	const failed: CallMetricsParts["failed"] = (pool, code) =>
		drops.guard("meter_threw", () =>
			meters.count("snakepit.call.failures", 1, {
				...pool,
				"error.type": code,
			}),
		);
	const metrics = new EventMetrics(meters, sightings);
	drops.guard("meter_threw", () => metrics.beginRun());
	return {
		on,
		drops,
		spans,
		calls: new CallTraces({ spans, lost, options }),
		observations,
		workers: new WorkerTraces(spans, lost),
		run: new RunTrace(spans),
		jobs: new JobTraces(spans),
		metrics,
		measuresOf: (pool: string): CallMeasures =>
			recorder === undefined
				? NO_MEASURES
				: new CallMetrics(pool, { limits, commands, recorder, failed }),
		log,
		/** Events of a run that were already exported: every pool of the run receives them. */
		exported: new WeakSet<SnakepitEvent>(),
		registration: new Registration(options),
		exports: new ExportWatch(options, drops),
		/** Makes the SDK send its buffered data. */
		flush: () => flush(options),
	};
}

/** Records the durations of calls, for `callMetrics()` or through the API; `undefined` if nothing receives them. */
function recorderOfCalls(
	{ meterProvider }: ResolvedTelemetryOptions,
	meters: Meters,
	drops: Drops,
): CallMetricsParts["recorder"] | undefined {
	const histograms =
		meterProvider === undefined ? registeredCallHistograms() : undefined;
	if (histograms !== undefined)
		return (name, attributes) => histograms.series(name, attributes);
	if (meters.isSilent) return undefined;
	return (name, attributes) => ({
		record(seconds, within) {
			try {
				meters.record(name, seconds, attributes, within);
			} catch {
				drops.count("meter_threw");
			}
		},
	});
}

/** Exports one pool. */
class PoolTelemetry implements PoolInstrument {
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
		const { on, drops, metrics, log, exported, exports } = this.#parts;
		this.#lookAtRegistration();
		exports.hear(event, this.#tell);
		if (!on(EVENTS[event.type].group)) return;
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
		const { drops, spans, calls } = this.#parts;
		if (spans.isSilent && isAlone(call)) return undefined;
		try {
			return calls.accept(call);
		} catch {
			drops.count("tracer_threw");
			return undefined;
		}
	}

	readonly unobserved = unobserved;

	environment(incarnation: string): Readonly<Record<string, string>> {
		const { drops, workers, jobs } = this.#parts;
		const variables = drops.guard("tracer_threw", () => {
			// A worker outlives its first caller, whose baggage says nothing of the calls after it.
			const start = propagation.deleteBaggage(workers.contextOf(incarnation));
			const job = jobs.contextOf(incarnation);
			return variablesOf(job === ROOT_CONTEXT ? start : job);
		});
		return variables ?? {};
	}

	#lookAtRegistration(): void {
		const { registration, metrics, spans } = this.#parts;
		const problem = registration.look({ meters: metrics, spans });
		if (problem !== undefined) this.#tell(problem);
	}

	readonly #tell = (problem: InstrumentProblem): void => {
		this.#report(problem);
		// Without this, a program that has no listener for events, and whose telemetry fails, would not notice.
		process.emitWarning(`${problem.message} ${problem.remedy}`, {
			type: "SnakepitWarning",
			code: "SNAKEPIT_TELEMETRY_MISCONFIGURED",
		});
	};

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
