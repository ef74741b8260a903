import { type Context, ROOT_CONTEXT } from "@opentelemetry/api";
import type { ErrorCode, EventOf } from "@snakepit/core";
import type { CallInstrument, CallMeasures } from "@snakepit/core/instrument";
import { seconds } from "../catalogue/events.ts";
import { METRICS } from "../catalogue/metrics.ts";
import type { Limits } from "../limits.ts";
import type { Commands } from "../options.ts";
import { CallTrace } from "../trace/call-trace.ts";
import type { MetricAttributes } from "./meters.ts";

/** Records measurements of one series, in seconds. */
interface Recorder {
	/** @param within the context of the call, so that a trace can be found from the measurement. */
	record(seconds: number, within: Context): void;
}

export interface CallMetricsParts {
	readonly limits: Limits;
	readonly commands: Commands;
	readonly recorder: (
		name: CallMetricName,
		attributes: MetricAttributes,
	) => Recorder;
	/** Counts a call that failed or timed out. */
	readonly failed: (pool: MetricAttributes, code: ErrorCode) => void;
}

/** The series that measure the calls of one command. */
interface Series {
	readonly attributes: MetricAttributes;
	readonly attempt: Recorder;
	/** By error code; `undefined` for calls that succeeded. */
	readonly calls: Map<ErrorCode | undefined, Recorder>;
}

/** Measures the calls of one pool. Look-ups happen once for each series, not for each call. */
export class CallMetrics implements CallMeasures {
	readonly #parts: CallMetricsParts;
	readonly #pool: MetricAttributes;
	readonly #wait: Recorder;
	/** By command as `Limits` returns it, so there are few. */
	readonly #series = new Map<string, Series>();
	/** Calls of one command usually follow each other. */
	#latest: string | undefined;
	/** Of the latest command; `undefined` if it is not measured. */
	#latestSeries: Series | undefined;

	constructor(pool: string, parts: CallMetricsParts) {
		this.#pool = { "snakepit.pool.name": pool };
		this.#parts = parts;
		this.#wait = parts.recorder("snakepit.call.wait_time", this.#pool);
	}

	dispatched(
		command: string,
		waitedMs: number,
		followed?: CallInstrument | undefined,
	): void {
		if (this.#of(command) !== undefined)
			this.#wait.record(seconds(waitedMs), contextOf(followed));
	}

	released(
		command: string,
		ranMs: number,
		followed?: CallInstrument | undefined,
	): void {
		this.#of(command)?.attempt.record(seconds(ranMs), contextOf(followed));
	}

	settled(
		command: string,
		outcome: CallOutcome,
		code: ErrorCode | undefined,
		totalMs: number,
		followed?: CallInstrument | undefined,
	): void {
		const series = this.#of(command);
		if (series === undefined) {
			if (isFailure(outcome, code)) this.#parts.failed(this.#pool, code);
			return;
		}
		let recorder = series.calls.get(code);
		if (recorder === undefined) {
			recorder = this.#settled(series, outcome, code);
			series.calls.set(code, recorder);
		}
		recorder.record(seconds(totalMs), contextOf(followed));
	}

	/** Records calls that end in one way. The count of those that fail costs the others nothing. */
	#settled(
		{ attributes }: Series,
		outcome: CallOutcome,
		code: ErrorCode | undefined,
	): Recorder {
		const duration = this.#parts.recorder("snakepit.call.duration", {
			...attributes,
			"snakepit.call.outcome": outcome,
			...(code !== undefined && { "error.type": code }),
		});
		if (!isFailure(outcome, code)) return duration;
		return {
			record: (taken, within) => {
				this.#parts.failed(this.#pool, code);
				duration.record(taken, within);
			},
		};
	}

	#of(command: string): Series | undefined {
		if (command === this.#latest) return this.#latestSeries;
		const { commands } = this.#parts;
		const series = commands.of(command).metrics
			? this.#seriesOf(command)
			: undefined;
		this.#latest = command;
		this.#latestSeries = series;
		return series;
	}

	#seriesOf(command: string): Series {
		const known = this.#series.get(command);
		if (known !== undefined) return known;
		const name = this.#parts.limits.command(command);
		let series = this.#series.get(name);
		if (series === undefined) {
			const attributes = { ...this.#pool, "snakepit.command": name };
			series = {
				attributes,
				attempt: this.#parts.recorder("snakepit.attempt.duration", attributes),
				calls: new Map(),
			};
			this.#series.set(name, series);
		}
		return series;
	}
}

/** Not the active one, which may be that of another call. */
function contextOf(followed: CallInstrument | undefined): Context {
	return followed instanceof CallTrace ? followed.context : ROOT_CONTEXT;
}

type CallOutcome = EventOf<"call.settled">["outcome"];

/** A call that its caller aborts has a code, and did not fail. */
function isFailure(
	outcome: CallOutcome,
	code: ErrorCode | undefined,
): code is ErrorCode {
	return code !== undefined && outcome !== "aborted";
}

/** Measures nothing. */
export const NO_MEASURES: CallMeasures = {
	dispatched: () => {},
	released: () => {},
	settled: () => {},
};

/** The metrics that measure every call. */
export const CALL_METRICS = [
	"snakepit.call.duration",
	"snakepit.call.wait_time",
	"snakepit.attempt.duration",
] as const;

export type CallMetricName = (typeof CALL_METRICS)[number];

/** The most series of one metric, the same as the SDK's default; all further ones share one series. */
const MOST_SERIES = 2_000;
/** The attributes that the SDK gives that series. */
const OVERFLOW = { "otel.metric.overflow": true } as MetricAttributes;

/** The histograms of the calls of all pools of a program. Like the SDK's, series remain after their pool is gone. */
export class CallHistograms {
	readonly #series: ReadonlyMap<CallMetricName, Map<string, HistogramSeries>> =
		new Map(CALL_METRICS.map((name) => [name, new Map()]));

	/** Returns the series with these attributes, which are given in the same order each time. */
	series(name: CallMetricName, attributes: MetricAttributes): HistogramSeries {
		const all = this.#all(name);
		const key = JSON.stringify(attributes);
		const known = all.get(key);
		if (known !== undefined) return known;
		const fits = attributes === OVERFLOW || all.size < MOST_SERIES;
		if (!fits) return this.series(name, OVERFLOW);
		const series = new HistogramSeries(attributes, METRICS[name].buckets ?? []);
		all.set(key, series);
		return series;
	}

	recorded(name: CallMetricName): readonly HistogramSeries[] {
		return [...this.#all(name).values()].filter(
			({ beganMs }) => beganMs !== undefined,
		);
	}

	#all(name: CallMetricName): Map<string, HistogramSeries> {
		return this.#series.get(name) as Map<string, HistogramSeries>;
	}
}

/** So many measurements of a series are counted together: by itself, each takes longer. */
const COUNTED_TOGETHER = 64;

/** The measurements of one series of a histogram since its first one. */
export class HistogramSeries {
	readonly attributes: MetricAttributes;
	readonly boundaries: readonly number[];
	/** When it was first recorded, in milliseconds since the Unix epoch; `undefined` before. */
	beganMs: number | undefined;
	readonly #counts: Float64Array;
	#sum = 0;
	/** Those that are not counted yet, in seconds. */
	readonly #waiting = new Float64Array(COUNTED_TOGETHER);
	#waitingCount = 0;

	constructor(attributes: MetricAttributes, boundaries: readonly number[]) {
		this.attributes = attributes;
		this.boundaries = boundaries;
		this.#counts = new Float64Array(boundaries.length + 1);
	}

	/** How many measurements each bucket has; the last bucket has those above all boundaries. */
	get counts(): Float64Array {
		this.#count();
		return this.#counts;
	}

	get sum(): number {
		this.#count();
		return this.#sum;
	}

	/** As in the SDK, a value that is not a number is left out. */
	record(seconds: number): void {
		if (!(seconds >= 0)) return;
		this.beganMs ??= Date.now();
		this.#waiting[this.#waitingCount++] = seconds;
		if (this.#waitingCount === COUNTED_TOGETHER) this.#count();
	}

	/** As in the SDK, a bucket includes its upper boundary. */
	#count(): void {
		const { boundaries } = this;
		const counts = this.#counts;
		for (const seconds of this.#waiting.subarray(0, this.#waitingCount)) {
			let bucket = 0;
			// Most calls are short: their bucket is among the first.
			while (seconds > (boundaries[bucket] as number)) bucket++;
			counts[bucket] = (counts[bucket] as number) + 1;
			this.#sum += seconds;
		}
		this.#waitingCount = 0;
	}
}
