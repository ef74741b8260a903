import {
	type Context,
	type Counter,
	createNoopMeter,
	type Histogram,
	type Meter,
	type MeterProvider,
	metrics,
	type Observable,
} from "@opentelemetry/api";
import type { AttributeName } from "../catalogue/attributes.ts";
import { SCOPE } from "../catalogue/attributes.ts";
import { METRICS, type MetricName } from "../catalogue/metrics.ts";
import type { Switches } from "../options.ts";

export type MetricAttributes = {
	readonly [Name in AttributeName]?: string | number | undefined;
};

/** Creates the instruments of the catalogue. */
export class Meters {
	readonly #meter: Meter;
	readonly #counters = new Map<MetricName, Counter>();
	readonly #histograms = new Map<MetricName, Histogram>();
	readonly #observed = new Map<MetricName, Observable>();

	constructor(provider: MeterProvider | undefined, on: Switches) {
		this.#meter = (provider ?? metrics).getMeter(SCOPE.name, SCOPE.version, {
			schemaUrl: SCOPE.schemaUrl,
		});
		for (const name of Object.keys(METRICS) as MetricName[])
			if (on(METRICS[name].group)) this.#make(name);
	}

	/** No SDK was registered when this was created, so nothing is ever exported. */
	get isSilent(): boolean {
		return this.#meter === createNoopMeter();
	}

	count(name: MetricName, value: number, attributes: MetricAttributes): void {
		this.#counters.get(name)?.add(value, attributes);
	}

	/**
	 * @param value in the unit of the metric.
	 * @param within the context that it was measured in, for exemplars; the active one by default.
	 */
	record(
		name: MetricName,
		value: number,
		attributes: MetricAttributes,
		within?: Context,
	): void {
		this.#histograms.get(name)?.record(value, attributes, within);
	}

	/** Instruments that are read when metrics are collected. */
	get observed(): ReadonlyMap<MetricName, Observable> {
		return this.#observed;
	}

	/** Calls `look` whenever metrics are collected. */
	observe(
		look: (
			report: (
				name: MetricName,
				value: number,
				attributes: MetricAttributes,
			) => void,
		) => void,
	): void {
		this.#meter.addBatchObservableCallback(
			(result) =>
				look((name, value, attributes) => {
					const observable = this.#observed.get(name);
					if (observable !== undefined)
						result.observe(observable, value, attributes);
				}),
			[...this.#observed.values()],
		);
	}

	#make(name: MetricName): void {
		const { kind, unit, description, buckets } = METRICS[name];
		const options = { unit, description };
		const meter = this.#meter;
		switch (kind) {
			case "counter":
				this.#counters.set(name, meter.createCounter(name, options));
				break;
			case "histogram":
				this.#histograms.set(
					name,
					meter.createHistogram(name, {
						...options,
						...(buckets && {
							advice: { explicitBucketBoundaries: [...buckets] },
						}),
					}),
				);
				break;
			case "observed counter":
				this.#observed.set(name, meter.createObservableCounter(name, options));
				break;
			case "observed up-down counter":
				this.#observed.set(
					name,
					meter.createObservableUpDownCounter(name, options),
				);
				break;
			case "observed gauge":
				this.#observed.set(name, meter.createObservableGauge(name, options));
		}
	}
}
