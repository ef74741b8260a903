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

/** What a row needs beside this repository. */
export interface Needs {
	/** An npm package of bench/peers/package.json. */
	readonly peer?: string;
	/** /proc and /dev/shm. */
	readonly linux?: true;
	/** A Python without the GIL, given with --free-threaded. */
	readonly freeThreaded?: true;
	/** A Ray cluster with so many nodes, in a namespace that has only loopback. */
	readonly clusterNodes?: number;
}

/** One line of a case: measured in a process of its own, in every run. */
export interface Row {
	readonly name: string;
	/** What the row needs; without it, the row reports what is missing. */
	readonly needs?: Needs;
	measure(setting: Setting): Promise<Figures>;
}

export interface FigureSpec {
	readonly title: string;
	readonly unit: string;
	readonly better: "lower" | "higher";
}

/** One question, with the contestants that answer it. */
export interface Case {
	readonly name: string;
	readonly title: string;
	/** What is measured, in a sentence. How it is measured stands at the code. */
	readonly about: string;
	readonly figures: Readonly<Record<string, FigureSpec>>;
	/** How many interleaved runs, when it cannot be as many as asked for. */
	readonly mostRuns?: number;
	/** Whether its rows run at the same time: for figures of growth, not of time. */
	readonly together?: true;
	readonly rows: readonly Row[];
}

export function lower(title: string, unit: string): FigureSpec {
	return { title, unit, better: "lower" };
}

export function higher(title: string, unit: string): FigureSpec {
	return { title, unit, better: "higher" };
}
