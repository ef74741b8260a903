import type { ControlledEvent } from "@snakepit/control";
import type { RunHistory } from "@snakepit/core/inspect";
import { counted, duration, timeOfDay, words } from "./figures.ts";
import {
	endWords,
	exitWords,
	IN_ORDER,
	incidentOf,
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

/** How a run ended, or that it goes on: what is known of the end of its program comes first. */
export function runEnd(run: RunHistory): RunEnd {
	const { state, clean } = run;
	if (state !== "terminated" && state !== "host_died")
		return { word: words(state), tone: "active", detail: undefined };
	const end = clean === true ? closedEnd(run) : diedEnd(run);
	const sentences = [
		end.why,
		later(run),
		failedStart(run),
		closer(run),
		clean === true ? undefined : cleanedUp(run),
	].filter((each) => each !== undefined);
	const detail = sentences.length === 0 ? undefined : sentences.join(" ");
	return { word: end.word, tone: end.tone, detail };
}

type End = Omit<RunEnd, "detail"> & { readonly why?: string | undefined };

/** How the program of a run that is over ended badly, and when; `undefined` where it did not. */
export function badEnd(run: RunHistory):
	| {
			readonly wallMs: number;
			/** What it did, in two or three words. */
			readonly words: string;
			/** Without a full stop. */
			readonly cause: string;
	  }
	| undefined {
	const { programEnd } = run;
	const {
		tone,
		word,
		why = "",
	} = run.clean === true ? closedEnd(run) : diedEnd(run);
	if (tone !== "bad") return undefined;
	return {
		wallMs: endSeen(run) ?? run.startedAt,
		words: word === "out of memory" ? "ran out of memory" : word,
		cause:
			word === "crashed"
				? errorText(programEnd?.error, run)
				: why.replace(/\.$/, ""),
	};
}

/** Of a run that its own program closed, in whatever way that ended. */
function closedEnd(run: RunHistory): End {
	const { programEnd: end } = run;
	const of = end?.of === "thread" ? "Its worker thread" : "It";
	switch (end?.how) {
		case "crashed":
			return crashed(run);
		case "exited": {
			const at = end.at === undefined ? "" : ` at ${shortPlace(run, end.at)}`;
			const why = `${of} called process.exit(${end.code})${at}.${signalledBefore(run)}${handled(run)}`;
			return end.code === 0
				? { word: "exited with code 0", tone: "quiet", why }
				: { word: `exited with code ${end.code}`, tone: "bad", why };
		}
		case "signal": {
			const { name, wallMs } = end.signal ?? {};
			const at = wallMs === undefined ? "" : ` at ${timeOfDay(wallMs)}`;
			return {
				...{ word: `ended by ${name}`, tone: "quiet" },
				why: `It got the signal${at}, and closed its pools.${handled(run)}`,
			};
		}
		case "finished":
			if (end.code === 0)
				return { word: "ended in order", tone: "good", why: signalled(run) };
			return {
				...{ word: `exited with code ${end.code}`, tone: "bad" },
				why:
					end.code === UNSETTLED
						? "Nothing was left to do, and an await at the top of its main module had not settled."
						: `Nothing was left to do, and process.exitCode was ${end.code}.${handled(run)}`,
			};
		default:
			return { word: "closed in order", tone: "good", why: signalled(run) };
	}
}

/** Node's exit code where an await at the top level never settles. */
const UNSETTLED = 13;

/** Of a run that its program did not close. */
function diedEnd(run: RunHistory): End {
	const { programEnd: end } = run;
	switch (end?.how) {
		case "crashed":
			return crashed(run);
		case "out_of_memory":
			return {
				...{ word: "out of memory", tone: "bad" },
				why: `The kernel killed its program, because memory had run out (${end.detail}).`,
			};
		case "machine_restarted":
			return {
				...{ word: "died", tone: "bad" },
				why: "Its machine was restarted.",
			};
		case "exited":
			return closedEnd(run);
		case "signal":
			return {
				...{ word: "died", tone: "bad" },
				why: `It got ${end.signal?.name}, and was killed before it had closed its pools.`,
			};
		case "finished":
			return {
				...{ word: "died", tone: "bad" },
				why: "Nothing was left to do, and it was killed before it had closed its pools.",
			};
		default:
			if (end?.of === "thread")
				return {
					...{ word: "died", tone: "bad" },
					why: `Its worker thread is gone and recorded no end, as after worker.terminate(), the exit of the program, or its death.${handled(run)}`,
				};
			return {
				...{ word: "died", tone: "bad" },
				why: `Its program is gone and recorded no end, as after SIGKILL, a crash in native code, a full heap, or process.abort().${handled(run)}${signalledBefore(run)}`,
			};
	}
}

function crashed(run: RunHistory): End {
	const { programEnd: end } = run;
	const kind =
		end?.error?.origin === "unhandledRejection"
			? "An unhandled rejection"
			: "An uncaught error";
	const where = end?.of === "thread" ? " ended its worker thread" : "";
	return {
		...{ word: "crashed", tone: "bad" },
		why: `${kind}${where}: ${errorText(end?.error, run)}.`,
	};
}

/** What the program caught by a listener of `uncaughtException`, as the next sentence. */
function handled(run: RunHistory): string {
	const { error } = run.programEnd ?? {};
	if (error === undefined || error.outcome === "ends") return "";
	return ` The last error that only its uncaughtException listener caught, at ${timeOfDay(error.wallMs)}: ${errorText(error, run)}.`;
}

function signalled(run: RunHistory): string | undefined {
	const { signal } = run.programEnd ?? {};
	const error = handled(run).trim();
	if (signal === undefined) return error === "" ? undefined : error;
	return `It had got ${signal.name} at ${timeOfDay(signal.wallMs)}.${handled(run)}`;
}

function signalledBefore({ programEnd }: RunHistory): string {
	const { signal } = programEnd ?? {};
	return signal === undefined
		? ""
		: ` It had got ${signal.name} at ${timeOfDay(signal.wallMs)}.`;
}

/** A run may be over long before its program. */
const LATER_MS = 1_000;

function later({ endedAt, clean, programEnd }: RunHistory): string | undefined {
	const { wallMs, how } = programEnd ?? {};
	if (clean !== true || how === undefined) return undefined;
	const ms = (wallMs ?? 0) - (endedAt ?? Number.POSITIVE_INFINITY);
	return ms < LATER_MS
		? undefined
		: `That was ${duration(ms)} after it had closed this run in order.`;
}

/** The failed start of a pool, or of the run itself, where that is not what the program crashed of. */
function failedStart(run: RunHistory): string | undefined {
	const { incidents, programEnd } = run;
	const failure = incidents.findLast(
		({ type }) => type === "pool.start_failed" || type === "run.open_failed",
	);
	if (failure === undefined || !("error" in failure)) return undefined;
	const { error } = failure;
	if (programEnd?.how === "crashed" && programEnd.error?.code === error.code)
		return undefined;
	const what =
		failure.type === "run.open_failed" ? "The run" : `Pool ${failure.pool}`;
	return `${what} could not be started: ${errorText(error, run)}.`;
}

/** Those who close a pool as part of the end of their program. */
const ITSELF: readonly unknown[] = [
	"program",
	"a signal",
	"the end of the program",
];

/** Whether somebody else asked for it. */
export function isFromOutside({ by }: RunHistory["acts"][number]): boolean {
	return !ITSELF.includes(by) && by !== "close";
}

/** Who closed its last pool, where that was not the program. */
function closer({ acts }: RunHistory): string | undefined {
	const act = acts.findLast(({ type }) => type.startsWith("pool.clos"));
	if (act === undefined || !isFromOutside(act)) return undefined;
	return `Pool ${act.pool} was closed by ${act.by}.`;
}

function cleanedUp(run: RunHistory): string {
	const { state, endedBy, cleanupMs, killed } = run;
	if (state === "host_died")
		return "The next program that opens a run in this directory, or snakepit reap, cleans up after it.";
	const took = cleanupMs === undefined ? "" : ` in ${duration(cleanupMs)}`;
	const before = endedBefore(run);
	const left = before.reduce((rest, { named }) => rest - named, killed);
	const own =
		left > 0 || before.length === 0
			? `: ${processes(left)} had to be ended`
			: "";
	const others = before
		.map(({ name, count }) => `a ${name} had ended ${processes(count)}`)
		.join(" and ");
	const rest = others === "" ? "" : `; ${others} before`;
	return `Cleaned up by ${cleanerWords(endedBy)}${took}${own}${rest}.`;
}

/** What protections ended that did not clean up in the end: how many processes have an incident, and how many there were. */
function endedBefore({ endedBy, incidents }: RunHistory): readonly {
	readonly name: string;
	readonly named: number;
	readonly count: number;
}[] {
	const killers = incidents.flatMap((each) =>
		each.type === "protection.process_killed" ? [each.protection] : [],
	);
	const byName = Map.groupBy(killers, (name) => name);
	byName.delete(endedBy?.split(":")[0] ?? "");
	return [...byName].map(([name, { length: named }]) => {
		// Of very many processes not each has an incident.
		const counts = incidents.flatMap((each) =>
			each.type === "protection.run_settled" && each.protection === name
				? [each.killed]
				: [],
		);
		return { name, named, count: Math.max(named, ...counts) };
	});
}

function processes(count: number): string {
	return counted(count, "process", "processes");
}

/** Longer messages of errors are in the JSON. */
const MESSAGE_CHARACTERS = 300;

/** The class of an error, its code and message, and where it was made. */
export function errorText(
	error:
		| Pick<
				NonNullable<RunHistory["workers"][number]["startError"]>,
				"name" | "code" | "message" | "at"
		  >
		| undefined,
	run: Pick<RunHistory, "program">,
): string {
	if (error === undefined) return "unknown";
	const { name, code, message = "", at } = error;
	const kind = code === undefined ? name : `${name} ${code}`;
	const shown = withoutTraceback(message);
	const text = shown === "" ? kind : `${kind}: ${shown}`;
	return at === undefined ? text : `${text}, at ${shortPlace(run, at)}`;
}

/** Why a worker could not be started, without what the sentence begins with: its id. */
function startErrorText(
	error: NonNullable<RunHistory["workers"][number]["startError"]>,
	workerId: string,
	run: Pick<RunHistory, "program">,
): string {
	const { code, message = "" } = error;
	const named = [
		`Worker ${workerId} could not start: `,
		`Worker ${workerId} could not be started: `,
		`Worker ${workerId} `,
	];
	const prefix = named.find((each) => message.startsWith(each)) ?? "";
	const name = code ?? error.name;
	const short = { ...error, name, code: undefined };
	return errorText({ ...short, message: message.slice(prefix.length) }, run);
}

/** Of a message that has a traceback in it, what is before that; on one line, and not too long. */
function withoutTraceback(message: string): string {
	const [text = ""] = message.split(/\n(?:Traceback \(|Its last lines:)/, 1);
	const flat = text.replaceAll(/\s*\n\s*/g, " ");
	return flat.length > MESSAGE_CHARACTERS
		? `${flat.slice(0, MESSAGE_CHARACTERS)} …`
		: flat.replace(/\.$/, "");
}

/** A place in a file, from the program's working directory on. */
function shortPlace(
	{ program }: Pick<RunHistory, "program">,
	at: string,
): string {
	const cwd = program?.cwd ?? "";
	return cwd === "" ? at : at.replace(`${cwd}/`, "");
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

/** When its program ended, in milliseconds since the Unix epoch: at the latest when somebody cleaned up after it. */
export function endSeen(run: RunHistory): number | undefined {
	return run.programEnd?.wallMs ?? deathSeen(run) ?? run.endedAt;
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

/** What an entry is about, as fields for programs. */
export interface EntryFacts {
	/** `"worker.ended"`, or the type of the event. */
	readonly type: string;
	readonly pool?: string | undefined;
	readonly worker?: string | undefined;
	readonly pid?: number | undefined;
	/** The exit code or the signal of a worker. */
	readonly code?: number | undefined;
	readonly signal?: string | undefined;
	readonly reason?: string | undefined;
	readonly killer?: string | undefined;
	/** That of its last call. */
	readonly command?: string | undefined;
	readonly error?: RunHistory["workers"][number]["startError"];
	readonly detail?: string | undefined;
	readonly by?: string | undefined;
	/** Where the program called `process.exit()`. */
	readonly at?: string | undefined;
	/** Of what lasted: its kind, and when it began. */
	readonly kind?: string | undefined;
	readonly sinceWallMs?: number | undefined;
	readonly durationMs?: number | undefined;
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
	readonly facts: EntryFacts;
}

/** Latest first; workers without an end come before all others. */
export function historyEntries(run: RunHistory): readonly HistoryEntry[] {
	const incidents = run.incidents.flatMap((event, number) => {
		const incident = incidentOf(event as unknown as ControlledEvent, number);
		return incident === undefined
			? []
			: [{ ...incident, key: `incident ${number}`, facts: factsOf(event) }];
	});
	const last = Number.POSITIVE_INFINITY;
	const workers = run.workers.map((worker) => workerEntry(worker, run));
	return [...workers, ...incidents].toSorted(
		(a, b) => (b.wallMs ?? last) - (a.wallMs ?? last) || 0,
	);
}

/** What was asked of the pools of a run, and by whom, in that order. */
export function actEntries(run: Pick<RunHistory, "acts">): readonly (Pick<
	HistoryEntry,
	"text" | "facts"
> & {
	readonly wallMs: number;
	readonly isFromOutside: boolean;
})[] {
	return run.acts.flatMap((act, number) => {
		const entry = incidentOf(act as unknown as ControlledEvent, number);
		if (entry === undefined) return [];
		const { wallMs, text } = entry;
		const facts = factsOf(act);
		return [{ wallMs, text, facts, isFromOutside: isFromOutside(act) }];
	});
}

/** The fields of an event that an operator looks for. */
function factsOf(
	event: RunHistory["incidents"][number] | RunHistory["acts"][number],
): EntryFacts {
	const fields = event as unknown as Readonly<Record<string, unknown>>;
	const text = (name: string): string | undefined => {
		const value = fields[name];
		return typeof value === "string" ? value : undefined;
	};
	const number = (name: string): number | undefined => {
		const value = fields[name];
		return typeof value === "number" ? value : undefined;
	};
	const { error } = fields;
	return {
		type: event.type,
		pool: text("pool"),
		worker: text("workerId"),
		pid: number("pid"),
		signal: text("signal"),
		reason: text("reason"),
		error: error as EntryFacts["error"],
		by: text("by"),
		...(event.type === "host.stood_still" && {
			kind: text("kind"),
			sinceWallMs: number("sinceWallMs"),
			durationMs: number("durationMs"),
		}),
	};
}

function workerEntry(
	worker: RunHistory["workers"][number],
	run: RunHistory,
): HistoryEntry {
	const { incarnation, workerId, pool, identity, location } = worker;
	const { endedAt, end, status, startError } = worker;
	const on = location === undefined ? "" : ` on ${location.name}`;
	const pid = identity?.pid;
	const who = `${workerId}${on}${pid === undefined ? "" : ` (pid ${pid})`}`;
	const named = { type: "worker.ended", pool, worker: workerId, pid };
	if (end === undefined)
		return {
			...{ key: incarnation, wallMs: endedAt, lines: [], tone: "active" },
			text:
				run.state === "running"
					? `${who} ${status === "reserved" ? "is starting" : "is alive"}`
					: `${who} has no recorded end${status === "reserved" ? ": it was about to start" : ""}`,
			facts: named,
		};
	const { exit, reason, killer, tail = [], lastCommand, detail } = end;
	const facts: EntryFacts = {
		...named,
		code: exit?.kind === "code" ? exit.code : undefined,
		signal: exit?.kind === "signal" ? exit.signal : undefined,
		...{ reason, killer, command: lastCommand, error: startError, detail },
	};
	const tone: Tone =
		IN_ORDER.includes(reason) || isDoneJob(worker) ? "quiet" : "bad";
	const entry = { key: incarnation, wallMs: endedAt, lines: tail, tone, facts };
	if (startError !== undefined)
		return {
			...entry,
			text: `${who} could not be started: ${startErrorText(startError, workerId, run)}${howItEnded(worker)}`,
		};
	// Nothing was started for it.
	if (pid === undefined && reason !== "start_failed")
		return { ...entry, text: `${who} was not started: ${words(reason)}` };
	// A protection acts when the host has died; the reaper only records it.
	const why =
		reason === "reaped" && killer === "protection" ? "host_died" : reason;
	const call =
		lastCommand === undefined ? "" : `; its last call was ${lastCommand}`;
	const more = detail === undefined ? "" : ` (${detail})`;
	return {
		...entry,
		text: `${who} ended${endWords(exit, why, killer)}${more}${call}`,
	};
}

/** The end of a worker that was not started, where its own error does not say it. */
function howItEnded({
	end,
	startError,
}: RunHistory["workers"][number]): string {
	// What was killed because it was not ready says nothing more by that.
	if (end?.killer === "stop_ladder" || end?.exit === undefined) return "";
	return startError?.code === "WORKER_EXITED_EARLY"
		? ""
		: `; it ended${exitWords(end.exit)}`;
}

/** A job ends by itself when its work is done; a worker does not. */
function isDoneJob({ pool, end }: RunHistory["workers"][number]): boolean {
	if (pool !== JOBS || end?.reason !== "exited") return false;
	return end.exit?.kind === "code" && end.exit.code === 0;
}
