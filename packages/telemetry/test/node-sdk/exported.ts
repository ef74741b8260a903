import type { EventOf } from "@snakepit/core";

/** One series of a histogram as a reader exported it. */
export interface ExportedHistogram {
	readonly name: string;
	readonly unit: string;
	readonly isDelta: boolean;
	readonly attributes: Readonly<Record<string, unknown>>;
	readonly count: number;
	readonly sum: number;
	readonly buckets: readonly number[];
	readonly boundaries: readonly number[];
	readonly startMs: number;
	readonly endMs: number;
}

/** What the program tells. */
export interface Export {
	/** What its calls did. */
	readonly settled: readonly EventOf<"call.settled">[];
	/** Of the reader that wants deltas, by export. */
	readonly deltas: readonly (readonly ExportedHistogram[])[];
	/** Of the one that sends OTLP as JSON. */
	readonly otlp: readonly (readonly ExportedHistogram[])[];
	/** Of the one that Prometheus scrapes. */
	readonly exposed: string;
}
