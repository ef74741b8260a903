import type {
	Instrument,
	InstrumentedPool,
	PoolInstrument,
} from "@snakepit/core/instrument";
import type { LayerReport } from "@snakepit/core/protection";
import { Drops } from "./drops.ts";
import { flush } from "./flush.ts";
import { Limits } from "./limits.ts";
import { EventLog } from "./logs/event-log.ts";
import {
	CallMetrics,
	type CallMetricsParts,
	NO_MEASURES,
} from "./metrics/call-metrics.ts";
import { EventMetrics } from "./metrics/event-metrics.ts";
import { Meters } from "./metrics/meters.ts";
import { Observations, Sightings } from "./metrics/observations.ts";
import { registeredCallHistograms } from "./metrics/register-call-metrics.ts";
import {
	type ResolvedTelemetryOptions,
	resolveOptions,
	type TelemetryOptions,
} from "./options.ts";
import { PoolTelemetry, type TelemetryParts } from "./pool-telemetry.ts";
import { inspectRegistration, Registration } from "./registration.ts";
import { type Switches, switchesOf } from "./switches.ts";
import { mayTrace } from "./trace/call-sampling.ts";
import { JobTraces } from "./trace/job-traces.ts";
import { LostAttempts } from "./trace/lost-attempts.ts";
import { RunTrace } from "./trace/run-trace.ts";
import { Spans } from "./trace/spans.ts";
import { WorkerTraces } from "./trace/worker-traces.ts";

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

	inspect(): LayerReport {
		return inspectRegistration(this.#options);
	}

	attach(pool: InstrumentedPool): PoolInstrument {
		if (!this.#options.enabled) return { hear: () => {} };
		this.#parts ??= makeParts(this.#options, this.#on);
		return new PoolTelemetry(this.#parts, pool);
	}
}

function makeParts(
	options: ResolvedTelemetryOptions,
	on: Switches,
): TelemetryParts {
	const { commands } = options;
	const drops = new Drops();
	const limits = new Limits(drops);
	const meters = new Meters(options.meterProvider, on);
	drops.countWith((reason) =>
		meters.count("snakepit.telemetry.dropped", 1, {
			"snakepit.drop.reason": reason,
		}),
	);
	const sightings = new Sightings();
	const observations = new Observations(sightings);
	meters.observe((report) =>
		drops.guard("meter_threw", () => observations.look(report)),
	);
	const recorder = recorderOfCalls(options, meters, drops);
	const spans = new Spans(options.tracerProvider, limits, drops);
	const lost = new LostAttempts();
	return {
		on,
		drops,
		spans,
		lost,
		observations,
		workers: new WorkerTraces(spans, lost),
		run: new RunTrace(spans),
		jobs: new JobTraces(spans),
		metrics: new EventMetrics(meters, sightings),
		measuresOf: (pool) =>
			recorder === undefined
				? NO_MEASURES
				: new CallMetrics(pool, { limits, commands, recorder }),
		mayTrace: (command, within) =>
			mayTrace(commands.of(command).sample, within),
		log: new EventLog(options.loggerProvider, limits, options.workerLogs),
		exported: new WeakSet(),
		registration: new Registration(options),
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
		record(seconds) {
			try {
				meters.record(name, seconds, attributes);
			} catch {
				drops.count("meter_threw");
			}
		},
	});
}
