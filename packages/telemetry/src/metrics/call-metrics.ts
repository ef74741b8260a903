import type { ErrorCode, EventOf } from "@snakepit/core";
import type { CallMeasures } from "@snakepit/core/instrument";
import { seconds } from "../catalogue/event-place.ts";
import type { Commands } from "../commands.ts";
import type { Limits } from "../limits.ts";
import type { CallMetricName } from "./call-histograms.ts";
import type { MetricAttributes } from "./meters.ts";

/** Records measurements of one series, in seconds. */
export interface Recorder {
	record(seconds: number): void;
}

export interface CallMetricsParts {
	readonly limits: Limits;
	readonly commands: Commands;
	readonly recorder: (
		name: CallMetricName,
		attributes: MetricAttributes,
	) => Recorder;
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

	dispatched(command: string, waitedMs: number): void {
		if (this.#of(command) !== undefined) this.#wait.record(seconds(waitedMs));
	}

	released(command: string, ranMs: number): void {
		this.#of(command)?.attempt.record(seconds(ranMs));
	}

	settled(
		command: string,
		outcome: EventOf<"call.settled">["outcome"],
		code: ErrorCode | undefined,
		totalMs: number,
	): void {
		const series = this.#of(command);
		if (series === undefined) return;
		let recorder = series.calls.get(code);
		if (recorder === undefined) {
			recorder = this.#parts.recorder("snakepit.call.duration", {
				...series.attributes,
				"snakepit.call.outcome": outcome,
				...(code !== undefined && { "error.type": code }),
			});
			series.calls.set(code, recorder);
		}
		recorder.record(seconds(totalMs));
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

/** Measures nothing. */
export const NO_MEASURES: CallMeasures = {
	dispatched: () => {},
	released: () => {},
	settled: () => {},
};
