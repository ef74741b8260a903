import type { ControlledEvent } from "@snakepit/control";
import type { RunHistory } from "@snakepit/core/inspect";
import { counted, duration, words } from "./figures.ts";
import {
	exitWords,
	IN_ORDER,
	incidentOf,
	killerWords,
	type Tone,
} from "./incidents.ts";

/** The pool under which the ledger has jobs. */
const JOBS = "(jobs)";

/** The state of a run, in a word and a sentence. */
interface RunEnd {
	readonly word: string;
	readonly tone: Tone;
	readonly detail: string | undefined;
}

export function runEnd(run: RunHistory): RunEnd {
	const { state, clean, endedBy, cleanupMs, killed } = run;
	if (state === "host_died")
		return {
			...{ word: "died", tone: "bad" },
			detail:
				"Its program is gone and did not close it. The next program that opens a run in this directory, or snakepit reap, cleans up after it.",
		};
	if (state !== "terminated")
		return { word: words(state), tone: "active", detail: undefined };
	if (clean === true)
		return { word: "ended in order", tone: "good", detail: undefined };
	const took = cleanupMs === undefined ? "" : ` in ${duration(cleanupMs)}`;
	return {
		...{ word: "died", tone: "bad" },
		detail: `Its program did not close it; ${cleanerWords(endedBy)} cleaned up after it${took}. ${counted(killed, "process", "processes")} had to be killed.`,
	};
}

/**
 * How long a run lasted, in words. For a run that did not end in order, the recorded end is the clean-up, which may be
 * long after its program died.
 */
export function lasted(run: RunHistory, nowMs: number): string {
	const { state, clean, startedAt, endedAt } = run;
	const seenMs = deathSeen(run);
	if (seenMs !== undefined) return duration(seenMs - startedAt);
	if (state === "host_died") return "unknown";
	const known = duration((endedAt ?? nowMs) - startedAt);
	return state === "terminated" && clean !== true ? `at most ${known}` : known;
}

/** When a protection saw that its program had died, in milliseconds since the Unix epoch. */
export function deathSeen({ incidents }: RunHistory): number | undefined {
	return incidents.find(({ type }) => type === "protection.host_death_detected")
		?.wallMs;
}

/** What cleaned up after a run, according to the ledger, in words. */
function cleanerWords(endedBy: string | undefined): string {
	const [kind, id] = endedBy?.split(":") ?? [];
	if (kind === "reaper") return `the start of run ${id}`;
	if (kind === "command") return `snakepit reap (pid ${id})`;
	return kind === "watchdog" ? "its watchdog" : "nobody";
}

/** A worker of a run and how it ended, or something that went wrong. */
export interface HistoryEntry {
	readonly key: string;
	/** In milliseconds since the Unix epoch; `undefined` for a worker that has not ended. */
	readonly wallMs: number | undefined;
	readonly tone: Tone;
	readonly text: string;
	/** The last of its output. */
	readonly lines: readonly string[];
}

/** Latest first; workers without an end come before all others. */
export function historyEntries(run: RunHistory): readonly HistoryEntry[] {
	const incidents = run.incidents.flatMap((event, number) => {
		const incident = incidentOf(event as unknown as ControlledEvent, number);
		return incident === undefined
			? []
			: [{ ...incident, key: `incident ${number}` }];
	});
	const last = Number.POSITIVE_INFINITY;
	const workers = run.workers.map((worker) => workerEntry(worker, run.state));
	return [...workers, ...incidents].toSorted(
		(a, b) => (b.wallMs ?? last) - (a.wallMs ?? last) || 0,
	);
}

function workerEntry(
	worker: RunHistory["workers"][number],
	runState: RunHistory["state"],
): HistoryEntry {
	const { incarnation, workerId, identity, location } = worker;
	const { endedAt, end, status } = worker;
	const on = location === undefined ? "" : ` on ${location.name}`;
	const who = `${workerId}${on} (pid ${identity?.pid ?? "unknown"})`;
	if (end === undefined)
		return {
			...{ key: incarnation, wallMs: endedAt, lines: [], tone: "active" },
			text:
				runState === "running"
					? `${who} ${status === "reserved" ? "is starting" : "is alive"}`
					: `${who} has no recorded end${status === "reserved" ? ": it was about to start" : ""}`,
		};
	const { exit, reason, killer, tail = [], lastCommand } = end;
	const by = killerWords(killer);
	// A protection acts when the host has died; the reaper only records it.
	const why =
		reason === "reaped" && killer === "protection" ? "host_died" : reason;
	const call =
		lastCommand === undefined ? "" : `; its last call was ${lastCommand}`;
	return {
		...{ key: incarnation, wallMs: endedAt, lines: tail },
		tone: IN_ORDER.includes(reason) || isDoneJob(worker) ? "quiet" : "bad",
		text: `${who} ended${exitWords(exit)}: ${words(why)}${by}${call}`,
	};
}

/** A job ends by itself when its work is done; a worker does not. */
function isDoneJob({ pool, end }: RunHistory["workers"][number]): boolean {
	if (pool !== JOBS || end?.reason !== "exited") return false;
	return end.exit?.kind === "code" && end.exit.code === 0;
}
