import type { ShownRunHistory } from "../../src/dash/history.ts";
import { duration } from "./figures.ts";
import { exitWords } from "./incidents.ts";
import type { Tone } from "./worker-status.ts";

/** How a run is or was, in a word and a sentence. */
export interface RunEnd {
	readonly word: string;
	readonly tone: Tone;
	readonly detail: string | undefined;
}

export function runEnd(run: ShownRunHistory): RunEnd {
	const { state, clean, endedBy, cleanupMs } = run;
	if (state !== "terminated")
		return { word: state.replace("_", " "), tone: "active", detail: undefined };
	if (clean === true)
		return { word: "ended in order", tone: "good", detail: undefined };
	const took = cleanupMs === undefined ? "" : ` in ${duration(cleanupMs)}`;
	return {
		word: "died",
		tone: "bad",
		detail: `Its program did not close it. ${endedBy ?? "Nobody yet"} cleaned up after it${took}.`,
	};
}

/** A worker of a run, and how it ended. */
export interface EndedWorker {
	readonly incarnation: string;
	readonly endedAt: number | undefined;
	readonly tone: Tone;
	readonly text: string;
	/** The last of its output. */
	readonly lines: readonly string[];
}

/** Ends that nothing is wrong with. */
const IN_ORDER: readonly string[] = ["closed", "recycled", "restarted"];

/** Latest first. */
export function endedWorkers(run: ShownRunHistory): readonly EndedWorker[] {
	return run.workers.toReversed().map((worker) => {
		const { incarnation, workerId, identity, endedAt, end, status } = worker;
		const who = `${workerId} (pid ${identity?.pid ?? "unknown"})`;
		if (end === undefined)
			return {
				...{ incarnation, endedAt, lines: [] },
				tone: "active",
				text: `${who} is ${status === "active" ? "alive" : status}`,
			};
		const { exit, reason, killer, tail = [], lastCommand } = end;
		const how = exitWords(exit);
		const by = killer === "none" ? "" : `, ended by ${words(killer)}`;
		const last =
			lastCommand === undefined ? "" : `; its last call was ${lastCommand}`;
		return {
			...{ incarnation, endedAt, lines: tail },
			tone: IN_ORDER.includes(reason) ? "quiet" : "bad",
			text: `${who} ended${how}: ${words(reason)}${by}${last}`,
		};
	});
}

function words(value: string): string {
	return value.replaceAll("_", " ");
}
