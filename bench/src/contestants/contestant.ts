import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Figures, Needs, Row, Setting } from "../case.ts";

/** How the other side is wanted. */
export interface LineSetting extends Setting {
	readonly workers: number;
	/** How many calls are under way at most, over all workers. */
	readonly inFlight: number;
	/** Where a contestant has such a bound and another than its usual one is needed. */
	readonly callsPerWorker?: number;
}

/** How much of the other side a row wants. */
type LineAmount = Pick<LineSetting, "workers" | "inFlight" | "callsPerWorker">;

/** A way to a Python program (or a JavaScript one) that answers with what it got. What is left out cannot be done with it. */
export interface Line extends AsyncDisposable {
	/** The processes at the other end; empty where it is this one. */
	readonly pids: readonly number[];
	/** Answers with the same text. */
	echo?(text: string): Promise<unknown>;
	/** Answers with the same bytes. */
	echoBytes?(bytes: Uint8Array): Promise<Uint8Array>;
	/** Answers with the number of bytes. */
	takeBytes?(bytes: Uint8Array): Promise<unknown>;
	/** Answers with so many bytes. */
	giveBytes?(size: number): Promise<Uint8Array>;
	/** Answers with the same array, which numpy saw. */
	echoArray?(array: Float64Array): Promise<Float64Array>;
	/** Yields so many items of so many bytes. */
	stream?(items: number, size: number): AsyncIterable<Uint8Array>;
	/** How many items the present stream has produced, asked beside it. */
	produced?(): Promise<number>;
}

/** Somebody who can open such a line. */
export interface Contestant {
	readonly name: string;
	readonly needs?: Needs;
	open(setting: LineSetting): Promise<Line>;
}

/** @throws TypeError when it echoes no text. */
export function textEcho({ echo }: Line): NonNullable<Line["echo"]> {
	if (echo === undefined) throw new TypeError("it echoes no text");
	return echo;
}

/** A row that opens a contestant's line, measures on it, and closes it. */
export function rowOf(
	{ name, needs, open }: Contestant,
	amount: LineAmount,
	measure: (line: Line, setting: Setting) => Promise<Figures>,
): Row {
	return {
		name,
		...(needs === undefined ? {} : { needs }),
		measure: async (setting) => {
			await using line = await open({ ...setting, ...amount });
			return await measure(line, setting);
		},
	};
}

/** Each time the next of some servers. */
export function byTurns<Each>(all: readonly Each[]): () => Each {
	let turn = 0;
	return () => all[turn++ % all.length] as Each;
}

/** Whole numbers as a server reads them. */
export function numbers(...values: readonly number[]): Buffer {
	return Buffer.from(Uint32Array.from(values).buffer);
}

/** Starts a Python program of this folder; what it says on standard error is shown. */
export function startPython(
	python: string,
	program: string,
	args: readonly string[],
): ChildProcess {
	const path = fileURLToPath(new URL(`../python/${program}`, import.meta.url));
	return spawn(python, [path, ...args], {
		stdio: ["ignore", "pipe", "inherit"],
	});
}

/** Resolves when the program has printed its first line. */
export async function firstLine(child: ChildProcess): Promise<void> {
	if (child.stdout === null) throw new TypeError("its output is not piped");
	const lines = createInterface({ input: child.stdout });
	const ended = new AbortController();
	const gone = once(child, "exit", { signal: ended.signal }).then(() => {
		throw new Error("it ended before it was ready");
	});
	try {
		await Promise.race([once(lines, "line"), gone]);
	} finally {
		ended.abort();
		gone.catch(() => {});
	}
}

/** Ends a program of which nothing is wanted any more. */
export async function end(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exited = once(child, "exit");
	child.kill("SIGKILL");
	await exited;
}
