import type { ErrorCode, EventOf } from "@snakepit/core";
import type { CallMeasures } from "@snakepit/core/instrument";
import { seconds } from "../catalogue/event-place.ts";
import type { MetricName } from "../catalogue/metrics.ts";
import type { Commands } from "../commands.ts";
import type { Drops } from "../drops.ts";
import type { Limits } from "../limits.ts";
import type { Meters, MetricAttributes } from "./meters.ts";

export interface CallMetricsParts {
	readonly meters: Meters;
	readonly limits: Limits;
	readonly drops: Drops;
	readonly commands: Commands;
}

/** The attributes of one command's measurements. */
interface Series {
	readonly attempt: MetricAttributes;
	/** By error code; `undefined` for calls that succeeded. */
	readonly calls: Map<ErrorCode | undefined, MetricAttributes>;
}

/** Measures the calls of one pool. Attributes are made once for each series, not for each call. */
export class CallMetrics implements CallMeasures {
	readonly #parts: CallMetricsParts;
	readonly #pool: MetricAttributes;
	/** By command as `Limits` has it, so there are few. */
	readonly #series = new Map<string, Series>();

	constructor(pool: string, parts: CallMetricsParts) {
		this.#pool = { "snakepit.pool.name": pool };
		this.#parts = parts;
	}

	dispatched(command: string, waitedMs: number): void {
		if (!this.#parts.commands.of(command).metrics) return;
		this.#record("snakepit.call.wait_time", waitedMs, this.#pool);
	}

	released(command: string, ranMs: number): void {
		if (!this.#parts.commands.of(command).metrics) return;
		const { attempt } = this.#seriesOf(command);
		this.#record("snakepit.attempt.duration", ranMs, attempt);
	}

	settled(
		command: string,
		outcome: EventOf<"call.settled">["outcome"],
		code: ErrorCode | undefined,
		totalMs: number,
	): void {
		if (!this.#parts.commands.of(command).metrics) return;
		const { attempt, calls } = this.#seriesOf(command);
		let attributes = calls.get(code);
		if (attributes === undefined) {
			attributes = {
				...attempt,
				"snakepit.call.outcome": outcome,
				...(code !== undefined && { "error.type": code }),
			};
			calls.set(code, attributes);
		}
		this.#record("snakepit.call.duration", totalMs, attributes);
	}

	#seriesOf(command: string): Series {
		const known = this.#series.get(command);
		if (known !== undefined) return known;
		const name = this.#parts.limits.command(command);
		let series = this.#series.get(name);
		if (series === undefined) {
			const attempt = { ...this.#pool, "snakepit.command": name };
			series = { attempt, calls: new Map() };
			this.#series.set(name, series);
		}
		return series;
	}

	#record(name: MetricName, ms: number, attributes: MetricAttributes): void {
		const { meters, drops } = this.#parts;
		try {
			meters.record(name, seconds(ms), attributes);
		} catch {
			drops.count("meter_threw");
		}
	}
}

/** Measures nothing. */
export const NO_MEASURES: CallMeasures = {
	dispatched: () => {},
	released: () => {},
	settled: () => {},
};
