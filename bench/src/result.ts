import type { FigureSpec, Kind } from "./case.ts";
import type { Machine } from "./machine.ts";

/** Over the runs of one row. */
export interface Spread {
	readonly median: number;
	readonly min: number;
	readonly max: number;
	/** Of each run. Missing where a result was read back from a page. */
	readonly samples?: readonly number[];
}

export interface RowResult {
	readonly name: string;
	readonly kind: Kind;
	readonly figures: Readonly<Record<string, Spread>>;
	/** Why there are none, or fewer: missing here, or failed. */
	readonly problem?: string;
}

export interface AimResult {
	readonly text: string;
	readonly unit: string;
	readonly atMost?: number;
	readonly atLeast?: number;
	readonly value?: number;
	/** `stated`: a figure that is wanted, without a bound. */
	readonly verdict: "met" | "not met" | "not measured" | "stated";
}

export interface CaseResult {
	readonly name: string;
	readonly title: string;
	readonly about: string;
	readonly plot: string;
	readonly runs: number;
	readonly figures: Readonly<Record<string, FigureSpec>>;
	readonly rows: readonly RowResult[];
	readonly aims: readonly AimResult[];
}

/** One run of the whole benchmark: what `--json` writes and `--publish` reads. */
export interface BenchResult {
	readonly version: 1;
	readonly startedAt: string;
	readonly command: string;
	/** Short runs, for a look; no figures to publish. */
	readonly quick: boolean;
	readonly machine: Machine;
	readonly peers: Readonly<Record<string, string>>;
	readonly cases: readonly CaseResult[];
}
