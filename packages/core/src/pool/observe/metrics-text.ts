/** A metric, and what it has to say: in Prometheus's terms a family. */
export interface MetricFamily {
	readonly name: string;
	readonly type: "counter" | "gauge" | "histogram";
	readonly help: string;
	readonly samples: readonly MetricSample[];
}

export interface MetricSample {
	/** Of a histogram: `_bucket`, `_sum` or `_count`. */
	readonly suffix?: string | undefined;
	/** Few values each: none is a pid, an incarnation or a command. */
	readonly labels: Readonly<Record<string, string>>;
	readonly value: number;
}

/** What a pool, or a run without one, has to say. */
export interface MetricReading {
	/** The pool, or the run: one that is read twice counts once. */
	readonly source: object;
	readonly runId: string;
	readonly families: readonly MetricFamily[];
	/** Of the run: its pools share it. */
	readonly ofRun: readonly MetricFamily[];
}

/** What has metrics. */
export interface MetricsSource {
	/** Its metrics now, in Prometheus's text format. */
	metricsText(): string;
}

/** What pools and runs of this package are, whichever copy of it made them. */
export interface ReadableMetrics extends MetricsSource {
	readMetrics(): readonly MetricReading[];
}

/** The media type of the text. Source: prometheus.io/docs/instrumenting/exposition_formats. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Writes readings in Prometheus's text format, each metric once. Series with the same name and labels are added up, as
 * those of two pools with one name; what belongs to a run counts once for each run.
 */
export function metricsText(readings: readonly MetricReading[]): string {
	const runs = new Map(readings.map(({ runId, ofRun }) => [runId, ofRun]));
	const distinct = new Map(
		readings.map((reading) => [reading.source, reading]),
	);
	const all = [
		...[...distinct.values()].flatMap(({ families }) => families),
		...[...runs.values()].flat(),
	];
	return [...Map.groupBy(all, ({ name }) => name).values()]
		.map(familyText)
		.join("");
}

function familyText(families: readonly MetricFamily[]): string {
	const [first] = families;
	if (first === undefined) return "";
	const { name, type, help } = first;
	const series = new Map<string, number>();
	for (const { suffix = "", labels, value } of families.flatMap(
		({ samples }) => samples,
	)) {
		const key = `${name}${suffix}${labelsText(labels)}`;
		series.set(key, (series.get(key) ?? 0) + value);
	}
	const lines = [...series].map(
		([key, value]) => `${key} ${value === Infinity ? "+Inf" : value}\n`,
	);
	if (lines.length === 0) return "";
	return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function labelsText(labels: MetricSample["labels"]): string {
	const pairs = Object.entries(labels).map(
		([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`,
	);
	return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(text: string): string {
	return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

/** Boundaries of histograms, in seconds. */
export const BUCKETS = {
	/** From a call that needs no process to one that takes minutes. */
	call: [
		0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
		10, 30, 60, 300,
	],
	start: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120],
	/** Fine around the targets: 100 ms for the 95th percentile, 1 s for the alert. */
	ping: [
		0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
		10,
	],
} as const;

/** Counts durations by the buckets of a histogram. */
export class BucketCounts {
	readonly #seconds: readonly number[];
	readonly #boundsMs: readonly number[];
	readonly #counts: number[];
	/** A whole number: what is taken from it leaves no rest of a rounding, by which a counter would become less. */
	#sumMicroseconds = 0;

	/** @param bounds in seconds, ascending. */
	constructor(bounds: readonly number[] = BUCKETS.call) {
		this.#seconds = bounds;
		this.#boundsMs = bounds.map((bound) => bound * 1_000);
		this.#counts = [...bounds, Number.POSITIVE_INFINITY].map(() => 0);
	}

	record(ms: number): void {
		const bounds = this.#boundsMs;
		// Most durations are short.
		let bucket = 0;
		while (bucket < bounds.length && ms > (bounds[bucket] as number)) bucket++;
		(this.#counts[bucket] as number)++;
		this.#sumMicroseconds += Math.round(ms * 1_000);
	}

	/** These without some of them, which were counted elsewhere, too, by the same buckets. */
	without(some: readonly BucketCounts[]): BucketCounts {
		const left = new BucketCounts(this.#seconds);
		const sum = (values: readonly number[]): number =>
			values.reduce((all, value) => all + value, 0);
		for (const index of this.#counts.keys())
			left.#counts[index] =
				(this.#counts[index] ?? 0) -
				sum(some.map((each) => each.#counts[index] ?? 0));
		left.#sumMicroseconds =
			this.#sumMicroseconds - sum(some.map((each) => each.#sumMicroseconds));
		return left;
	}

	get count(): number {
		return this.#counts.reduce((sum, count) => sum + count, 0);
	}

	samples(labels: MetricSample["labels"]): readonly MetricSample[] {
		let count = 0;
		const buckets = this.#counts.map((inBucket, index): MetricSample => {
			count += inBucket;
			const le = this.#seconds[index]?.toString() ?? "+Inf";
			return { suffix: "_bucket", labels: { ...labels, le }, value: count };
		});
		return [
			...buckets,
			{ suffix: "_sum", labels, value: this.#sumMicroseconds / 1e6 },
			{ suffix: "_count", labels, value: count },
		];
	}
}
