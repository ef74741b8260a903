import type { Command } from "commander";
import { CommandFailed, noteAbsent } from "../command/failures.ts";
import { DATA_DIR, JSON_FLAG } from "../command/flags.ts";
import {
	coloured,
	fitted,
	folded,
	table,
	terminalColumns,
	wrapped,
	write,
} from "../command/output.ts";
import { dayAndTime, plainText } from "../wording/figures.ts";
import {
	type Note,
	type PoolStatus,
	type ProgramFacts,
	type ProgramStatus,
	poolNotes,
	programStatus,
	type Status,
	said,
	statusOf,
} from "../wording/program-status.ts";
import { lasted, runEnd } from "../wording/run-history.ts";
import { findPrograms } from "./find-programs.ts";
import { otherLedgerLines, otherLedgers } from "./other-ledgers.ts";

interface PsFlags {
	readonly all?: boolean;
	readonly dataDir?: string;
	readonly json?: boolean;
	readonly run?: string;
}

/** Adds `snakepit ps`. */
export function addPs(program: Command): void {
	program
		.command("ps")
		.description("show the pools of all programs, and what is wrong with them")
		.option("-a, --all", "also programs that have ended")
		.option("--run <id>", "only this run: its id, or the beginning of it")
		.option(...DATA_DIR)
		.option(...JSON_FLAG)
		.action(ps);
}

/** A program and how it was judged. */
export interface JudgedProgram {
	readonly facts: ProgramFacts;
	readonly status: ProgramStatus;
}

async function ps(flags: PsFlags): Promise<void> {
	const { all = false, dataDir, json, run } = flags;
	noteAbsent(dataDir, json);
	const by = "snakepit ps";
	const found = await findPrograms({ dataDir, by });
	const living = found.filter(({ kind }) => kind === "living").length;
	// In other data directories there may be more.
	const isOnly = dataDir === undefined && living === 1;
	const remedies = isOnly ? "are short" : "name the run";
	const programs = found
		.filter((facts) => run === undefined || runOf(facts).startsWith(run))
		.map((facts) => ({ facts, status: programStatus(facts, remedies) }));
	const ended = all ? await endedRuns(flags) : [];
	if (run !== undefined && programs.length + ended.length === 0)
		throw new CommandFailed(
			"absent",
			all
				? `No run "${run}" is recorded. List recorded runs: snakepit ps -a.`
				: `No run "${run}" is alive. List ended runs: snakepit ps -a.`,
		);
	const status = statusOf(programs);
	if (status.level === "trouble") process.exitCode = 1;
	if (json)
		return write(JSON.stringify(jsonOf(status, programs, ended), undefined, 2));
	const columns = terminalColumns();
	const [verdict = "", ...more] = wrapped(status.text, columns, "");
	write(coloured([verdict, ...more].join("\n"), status.level !== "trouble"));
	const lines = [
		...programLines(programs, status, columns),
		...(ended.length > 0 ? ["", ...endedLines(ended)] : []),
		...(await endedElsewhere(flags)).flatMap((line) => folded(line, columns)),
	];
	if (lines.length > 0) write(lines.join("\n"));
}

/** Empty for what is not one run. */
function runOf(facts: ProgramFacts): string {
	return facts.kind === "unreadable" ? "" : facts.runId;
}

/** The runs that are over, latest first. */
async function endedRuns({ dataDir, run }: PsFlags) {
	const { readHistory } = await import("@snakepit/core/inspect");
	const runs = await Array.fromAsync(readHistory({ dataDir }));
	return runs.filter(
		({ runId, state }) =>
			state === "terminated" && (run === undefined || runId.startsWith(run)),
	);
}

/** Where runs that have ended may be, besides; what died there is among the programs. */
async function endedElsewhere({
	all = false,
	dataDir,
	run,
}: PsFlags): Promise<readonly string[]> {
	if (!all || dataDir !== undefined || run !== undefined) return [];
	const others = await otherLedgers();
	const lines = otherLedgerLines(others.map((each) => ({ ...each, died: [] })));
	return lines.length === 0 ? [] : ["", ...lines];
}

type EndedRuns = Awaited<ReturnType<typeof endedRuns>>;

const TITLES = [
	...["PROGRAM", "RUN", "POOL", "STATE", "READY", "BUSY", "QUEUE"],
	...["RESTARTS", "NEXT"],
];
const NAME_CHARACTERS = 16;

/**
 * A line for each pool, and below it what is to be said about it.
 *
 * @param columns of the terminal; 0 elsewhere: no line is broken.
 */
export function programLines(
	programs: readonly JudgedProgram[],
	status: Status,
	columns: number,
): readonly string[] {
	const rows = programs.flatMap(({ facts, status }) => rowsOf(facts, status));
	if (rows.length === 0) return [];
	const lines = table([TITLES, ...rows.map(({ cells }) => cells)]);
	return lines.flatMap((line, index) => [
		columns === 0 ? line : fitted(line, columns),
		...(rows[index - 1]?.notes ?? [])
			// The first line has said it.
			.filter(({ remark }) => remark === undefined || remark !== status.remark)
			.flatMap(({ text }) => wrapped(text, columns, "  ")),
	]);
}

interface Row {
	readonly cells: readonly string[];
	readonly notes: readonly Note[];
}

function rowsOf(facts: ProgramFacts, status: ProgramStatus): readonly Row[] {
	const { program, run } = namesOf(facts);
	const { pools, remarks } = status;
	const ofAll = remarks
		.filter(({ pool }) => pool === null)
		.map((remark) => ({ level: remark.level, text: said(remark), remark }));
	if (pools.length === 0)
		return [
			{
				cells: [program, run, "-", status.words, "-", "-", "-", "-", "-"],
				notes: ofAll,
			},
		];
	const now =
		facts.kind === "living" && facts.view.kind === "seen"
			? facts.view.state.run.wallMs
			: Date.now();
	return pools.map((pool, index) => ({
		cells: [program, run, ...poolCells(pool)],
		notes: [...(index === 0 ? ofAll : []), ...poolNotes(pool, now)],
	}));
}

function namesOf(facts: ProgramFacts): {
	readonly program: string;
	readonly run: string;
} {
	if (facts.kind === "unreadable") return { program: "-", run: "-" };
	const name =
		(facts.kind === "living" || facts.kind === "dead"
			? facts.program
			: undefined) ?? "-";
	const shown =
		name.length > NAME_CHARACTERS
			? `${name.slice(0, NAME_CHARACTERS - 1)}…`
			: name;
	return { program: plainText(shown), run: facts.runId };
}

function poolCells({
	pool,
	ready,
	busy,
	words,
	snapshot,
}: PoolStatus): readonly string[] {
	const { size, queue, restarts, starts } = snapshot;
	const { next } = starts;
	return [
		...[plainText(pool), words, `${ready}/${size.max}`, String(busy)],
		...[String(queue.waiting), String(restarts)],
		next === null ? "-" : `${Math.ceil(next.inMs / 1_000)} s`,
	];
}

function endedLines(ended: EndedRuns): readonly string[] {
	const now = Date.now();
	return table([
		["PROGRAM", "RUN", "BEGAN", "LASTED", "END"],
		...ended.map((run) => [
			...[run.program?.name ?? "-", run.runId, dayAndTime(run.startedAt)],
			...[lasted(run, now), runEnd(run).word],
		]),
	]);
}

/** What `--json` prints. */
function jsonOf(
	verdict: Status,
	programs: readonly JudgedProgram[],
	ended: EndedRuns,
) {
	const { level, text } = verdict;
	return {
		verdict: { level, text },
		programs: programs.map(({ facts, status }) => ({
			...shownFacts(facts),
			level: status.level,
			condition: status.words,
			remarks: status.remarks,
			pools: status.pools.map(
				({ pool, ready, busy, level, words, snapshot }) => ({
					...{ pool, level, condition: words, ready, busy },
					...{ size: snapshot.size, phase: snapshot.phase },
					...{ queue: snapshot.queue, calls: snapshot.calls },
					...{ restarts: snapshot.restarts, starts: snapshot.starts },
					lastFailure: snapshot.lastFailure,
					workers: snapshot.workers,
				}),
			),
		})),
		ended: ended.map((run) => ({
			...{ runId: run.runId, pid: run.owner.pid },
			program: run.program?.name,
			...{ startedAtMs: run.startedAt, endedAtMs: run.endedAt },
			...{ clean: run.clean, endedBy: run.endedBy, end: runEnd(run).word },
			programEnd: run.programEnd,
		})),
	};
}

/** The facts without the state, which is in the pools. */
function shownFacts(facts: ProgramFacts) {
	if (facts.kind !== "living") return facts;
	const { view, ...rest } = facts;
	return { ...rest, view: view.kind };
}
