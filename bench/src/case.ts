import type { Needs } from "./needs.ts";

/** Whose row it is: what the machine allows, what one would write without a pool, ours, or another package. */
export type Kind = "limit" | "bare" | "ours" | "peer";

/** What one run of a row measured, by figure; one that cannot be measured here is left out. */
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
	/** An interpreter without the GIL, with the bridge and numpy; `undefined` if none was given. */
	readonly freeThreadedPython: string | undefined;
	/** Where peers are installed, by name. */
	readonly peers: Readonly<Record<string, string>>;
}

/** One line of a case: measured in a process of its own, in every run. */
export interface Row {
	readonly name: string;
	readonly kind: Kind;
	/** What the row needs; without it, the row reports what is missing. */
	readonly needs?: Needs;
	measure(setting: Setting): Promise<Figures>;
}

export interface FigureSpec {
	readonly title: string;
	readonly unit: string;
	readonly better: "lower" | "higher";
}

/** The median of a row's figure; NaN if it was not measured. */
export type Lookup = (row: string, figure: string) => number;

/** A target, printed beside the figures; nothing passes or fails by it. */
export interface Aim {
	readonly text: string;
	readonly unit: string;
	readonly atMost?: number;
	readonly atLeast?: number;
	/** From the medians of one run; NaN if one is missing. */
	value(of: Lookup): number;
}

/** One question, with the contestants that answer it. */
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
	/** Whether its rows run at the same time: for figures of growth, not of time. */
	readonly together?: true;
	readonly rows: readonly Row[];
	readonly aims: readonly Aim[];
}

type Bounds = Pick<Aim, "atMost" | "atLeast">;

/** An aim for a figure of one row. */
export function aim(
	text: string,
	unit: string,
	[row, figure]: readonly [row: string, figure: string],
	bounds: Bounds = {},
): Aim {
	return { text, unit, ...bounds, value: (of) => of(row, figure) };
}

/** An aim for a figure of one row as a multiple of that of another. */
export function ratio(
	text: string,
	figure: string,
	[row, other]: readonly [row: string, other: string],
	bounds: Bounds = {},
): Aim {
	const value: Aim["value"] = (of) => of(row, figure) / of(other, figure);
	return { text, unit: "x", ...bounds, value };
}

export function lower(title: string, unit: string): FigureSpec {
	return { title, unit, better: "lower" };
}

export function higher(title: string, unit: string): FigureSpec {
	return { title, unit, better: "higher" };
}

/** The least of those that were measured; NaN if none was. */
export function least(values: readonly number[]): number {
	return extreme(Math.min, values);
}

/** The most of those that were measured; NaN if none was. */
export function most(values: readonly number[]): number {
	return extreme(Math.max, values);
}

function extreme(
	pick: (...values: number[]) => number,
	values: readonly number[],
): number {
	const measured = values.filter((value) => !Number.isNaN(value));
	return measured.length === 0 ? Number.NaN : pick(...measured);
}
