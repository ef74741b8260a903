import type { RunHistory } from "@snakepit/core/inspect";
import { CommandFailed } from "../command/failures.ts";
import { dayAndTime, duration, plainText } from "../wording/figures.ts";
import { endSeen, runEnd } from "../wording/run-history.ts";
import { type RecordedRun, recordedRuns } from "./other-ledgers.ts";

/** A run that a name may mean. */
interface Candidate {
	readonly runId: string;
	readonly pid: number;
	readonly program: string | undefined;
	readonly startedAtMs: number;
	/** Empty where that is not known. */
	readonly pools: ReadonlySet<string>;
	readonly state: "lives" | "is over";
}

/** What may be the id of a run, or the beginning of it. */
const ID = /^[0-9a-z]{1,7}$/;
const MOST_NAMED = 5;

/**
 * Finds the run that is meant: by its id or the beginning of it; otherwise by the file name of its program, with or without
 * extension; otherwise by the name of one of its pools. Of several runs with a name, it is the one that lives.
 *
 * @returns its id or the beginning of it; what means no run as it is.
 * @throws CommandFailed if a name means several runs.
 */
export async function runMeant(
	given: string,
	dataDir: string | undefined,
): Promise<string> {
	const { findRuns } = await import("@snakepit/control");
	const living = (await findRuns(dataDir)).map(
		(run): Candidate => ({ ...run, pools: new Set(), state: "lives" }),
	);
	if (living.some(({ runId }) => runId.startsWith(given))) return given;
	const [only, ...more] = living.filter((run) => isOf(run, given));
	// No ledger is read for it.
	if (only !== undefined && more.length === 0 && !ID.test(given))
		return only.runId;
	const recorded = await recordedRuns({ dataDir, failedCallsPerRun: 0 });
	if (recorded.some(({ run }) => run.runId.startsWith(given))) return given;
	const known = new Map<string, Candidate>();
	for (const each of [...living, ...recorded.map(candidateOf)])
		known.set(each.runId, each);
	const all = [...known.values()];
	const named = all.filter((run) => isOf(run, given));
	const fitting =
		named.length > 0 ? named : all.filter(({ pools }) => pools.has(given));
	return fitting.length === 0 ? given : chosen(given, fitting).runId;
}

function isOf({ program = "" }: Candidate, given: string): boolean {
	return program === given || program.replace(/(?<=.)\.[^.]+$/, "") === given;
}

function candidateOf({ run }: RecordedRun): Candidate {
	const { runId, owner, program, startedAt, workers } = run;
	return {
		...{
			runId,
			pid: owner.pid,
			program: program?.name,
			startedAtMs: startedAt,
		},
		pools: new Set(workers.map(({ pool }) => pool)),
		state: isOver(run) ? "is over" : "lives",
	};
}

function chosen(given: string, fitting: readonly Candidate[]): Candidate {
	const living = fitting.filter(({ state }) => state === "lives");
	const some = living.length > 0 ? living : fitting;
	const [first] = some;
	if (first !== undefined && some.length === 1) return first;
	const listed = some
		.toSorted((a, b) => b.startedAtMs - a.startedAtMs)
		.slice(0, MOST_NAMED)
		.map(
			({ runId, program, pid, startedAtMs }) =>
				`${runId} (${program ?? "a program"}, pid ${pid}, since ${dayAndTime(startedAtMs)})`,
		);
	const rest = some.length - listed.length;
	throw new CommandFailed(
		"usage",
		plainText(
			`${some.length} runs "${given}" ${living.length > 0 ? "live" : "are over, and none lives"}: ${listed.join(", ")}${rest > 0 ? `, and ${rest} older` : ""}. Name one by its id.`,
		),
	);
}

/** How the run with this id, or this beginning of it, ended, and what tells more; `undefined` where none ended, or several. */
export async function endedText(
	id: string,
	dataDir: string | undefined,
): Promise<string | undefined> {
	const recorded = await recordedRuns({ dataDir, failedCallsPerRun: 0 });
	const runs = recorded.filter(
		({ run }) => run.runId.startsWith(id) && isOver(run),
	);
	const [found] = runs;
	if (found === undefined || runs.length > 1) return undefined;
	const { run, where } = found;
	const { runId, program } = run;
	const { word, detail } = runEnd(run);
	const endedAtMs = endSeen(run);
	const when =
		endedAtMs === undefined
			? ""
			: ` ${duration(Date.now() - endedAtMs)} ago, at ${dayAndTime(endedAtMs)}`;
	const why = detail === undefined ? "" : ` ${detail}`;
	return plainText(
		`Run ${runId} of ${program?.name ?? "a program"} is over: ${word}${when}.${why} See: snakepit incidents --run ${runId}${where}, snakepit history --run ${runId}${where}.`,
	);
}

function isOver({ state }: RunHistory): boolean {
	return state === "terminated" || state === "host_died";
}
