import type { Needs } from "./needs.ts";

/** Whose row it is: what is possible, what one would do without a pool, ours, or another package. */
export type Kind = "limit" | "bare" | "ours" | "peer";

/** What one run of a row found, by the names of the case's figures. A figure that cannot be had here is left out. */
export type Figures = Readonly<Record<string, number>>;

/** How long a row may take. */
export interface Pace {
	readonly warmUpMs: number;
	readonly measureMs: number;
	/** The largest value that is sent, in MB. */
	readonly largestMb: number;
	/** The largest number of Python workers at once. */
	readonly mostWorkers: number;
	readonly soakMs: number;
}

/** What a row gets in its process. */
export interface Setting {
	readonly pace: Pace;
	/** The interpreter that has the bridge, grpcio and numpy. */
	readonly python: string;
	/** One without Python's lock that has the bridge and numpy; `undefined` where none was named. */
	readonly freeThreadedPython: string | undefined;
	/** Where peers are installed, by name. */
	readonly peers: Readonly<Record<string, string>>;
}

/** One line of a case: measured in a process of its own, in every run. */
export interface Row {
	readonly name: string;
	readonly kind: Kind;
	/** What must be there; without it the row says what is missing. */
	readonly needs?: Needs;
	measure(setting: Setting): Promise<Figures>;
}

export interface FigureSpec {
	readonly title: string;
	readonly unit: string;
	readonly better: "lower" | "higher";
}

/** The median of a row's figure; `undefined` when it was not measured. */
export type Lookup = (row: string, figure: string) => number | undefined;

/** What is aimed at. Printed beside the figures; nothing passes or fails by it. */
export interface Aim {
	readonly text: string;
	readonly unit: string;
	readonly atMost?: number;
	readonly atLeast?: number;
	/** From medians of one and the same run; `undefined` when one is missing. */
	value(of: Lookup): number | undefined;
}

/** One question, and who answers it. */
export interface Case {
	readonly name: string;
	readonly title: string;
	/** What is measured and how, in a few sentences. */
	readonly about: string;
	readonly figures: Readonly<Record<string, FigureSpec>>;
	/** The figure of the plot. */
	readonly plot: string;
	/** How many interleaved runs, when it cannot be as many as asked for. */
	readonly mostRuns?: number;
	/** Whether its rows run at the same time: they tell what grows, and none of them is a time. */
	readonly together?: true;
	readonly rows: readonly Row[];
	readonly aims: readonly Aim[];
}

/** One figure of one row against one of another. */
export function ratio(
	of: Lookup,
	[row, figure]: readonly [string, string],
	[otherRow, otherFigure]: readonly [string, string],
): number | undefined {
	const value = of(row, figure);
	const other = of(otherRow, otherFigure);
	return value === undefined || other === undefined ? undefined : value / other;
}

/** The best of several; `undefined` when none was measured. */
export function best(
	values: readonly (number | undefined)[],
	pick: (...values: number[]) => number,
): number | undefined {
	const there = values.filter((value) => value !== undefined);
	return there.length === 0 ? undefined : pick(...there);
}
