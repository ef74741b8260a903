import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { mostBegins, type SettledCall } from "../../programs/calls-ahead.ts";

/** Notes of hosts and workers about calls, in files that outlive them. */
export interface CallNotes {
	/** The number of each call that a tool began, once for every time. */
	readonly began: readonly number[];
	/** How calls ended for their callers. */
	readonly settled: readonly SettledCall[];
	/** The steps at which something was done to a worker. */
	readonly struck: readonly string[];
}

/** Reads the notes in a directory; a host that was killed may have left half a line. */
export function readNotes(directory: string): CallNotes {
	const lines = (name: string): string[] => {
		const path = join(directory, name);
		return existsSync(path)
			? readFileSync(path, "utf8").split("\n").slice(0, -1)
			: [];
	};
	return {
		began: lines("began").map(Number),
		settled: lines("settled").map((line) => JSON.parse(line)),
		struck: lines("struck"),
	};
}

/** Contradictions between the results of callers and the journal of tools, each a sentence. */
export function contradictions({
	began,
	settled,
}: Pick<CallNotes, "began" | "settled">): readonly string[] {
	const times = countOf(began);
	const ends = countOf(settled.map(({ number }) => number));
	return [
		...[...times].flatMap(([number, begins]) =>
			begins > mostBegins(number)
				? [`Call ${number} began ${begins} times.`]
				: [],
		),
		...[...ends].flatMap(([number, count]) =>
			count > 1 ? [`Call ${number} ended ${count} times.`] : [],
		),
		...settled.flatMap(({ number, ending, ran }) => {
			const begins = times.get(number) ?? 0;
			if (ending === "ok" && begins === 0)
				return [`Call ${number} succeeded and never began.`];
			if (ran === "no" && begins > 0)
				return [`Call ${number} ended as ${ending}, not run, and began.`];
			return [];
		}),
	];
}

function countOf(numbers: readonly number[]): ReadonlyMap<number, number> {
	const counts = new Map<number, number>();
	for (const number of numbers)
		counts.set(number, (counts.get(number) ?? 0) + 1);
	return counts;
}
