import type { Command } from "commander";
import { CommandFailed, noteAbsent } from "../command/failures.ts";
import { DATA_DIR, JSON_FLAG } from "../command/flags.ts";
import {
	coloured,
	fitted,
	folded,
	quoted,
	shortenedInside,
	table,
	terminalColumns,
	wrapped,
	write,
} from "../command/output.ts";
import { dayAndTime, plainText } from "../wording/figures.ts";
import {
	type JudgedProgram,
	type Note,
	type PoolStatus,
	type ProgramFacts,
	type ProgramStatus,
	poolNotes,
	programNotes,
	programStatus,
	type Status,
	statusOf,
	worstFirst,
} from "../wording/program-status.ts";
import { lasted, runEnd } from "../wording/run-history.ts";
import {
	type FailedProgram,
	failedLines,
	failedPrograms,
	failedStatus,
} from "./failed-programs.ts";
import { findPrograms } from "./find-programs.ts";
import { endedText, runMeant } from "./named-run.ts";
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
		.option(
			"--run <id>",
			"only this run: its id, the beginning of it, its program or a pool",
		)
		.option(...DATA_DIR)
		.option(...JSON_FLAG)
		.action(ps);
}

async function ps(asked: PsFlags): Promise<void> {
	const { all = false, dataDir, json } = asked;
	noteAbsent(dataDir, json);
	const run =
		asked.run === undefined ? undefined : await runMeant(asked.run, dataDir);
	const flags: PsFlags = { ...asked, ...(run !== undefined && { run }) };
	const by = "snakepit ps";
	const found = await findPrograms({ dataDir, by });
	const living = found.filter(({ kind }) => kind === "living").length;
	// In other data directories there may be more.
	const isOnly = dataDir === undefined && living === 1;
	const remedies = isOnly ? "are short" : "name the run";
	const programs = worstFirst(
		found
			.filter((facts) => run === undefined || runOf(facts).startsWith(run))
			.map((facts) => ({ facts, status: programStatus(facts, remedies) })),
	);
	const ended = all ? await endedRuns(flags) : [];
	const failed = await failedPrograms(flags, found);
	const known = programs.length + ended.length + failed.length;
	if (run !== undefined && known === 0)
		throw new CommandFailed(
			"absent",
			all
				? `No run "${run}" is recorded. List recorded runs: snakepit ps -a.`
				: ((await endedText(run, dataDir)) ??
						`No run "${run}" is alive. List ended runs: snakepit ps -a.`),
		);
	const failures = failed.map(failedStatus);
	const status = statusOf(programs, failures);
	if (status.level === "trouble") process.exitCode = 1;
	if (json)
		return write(
			JSON.stringify(jsonOf(status, programs, failed, ended), undefined, 2),
		);
	const columns = terminalColumns();
	const [verdict = "", ...more] = wrapped(status.text, columns, "");
	write(coloured([verdict, ...more].join("\n"), status.level !== "trouble"));
	const where = dataDir === undefined ? "" : ` --data-dir ${quoted(dataDir)}`;
	const lines = [
		...programLines(programs, status, columns),
		...failedLines(failures, status.remark, `snakepit ps -a${where}`).flatMap(
			(line) => wrapped(plainText(line), columns, ""),
		),
		...(ended.length > 0 ? ["", ...endedLines(ended, columns)] : []),
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
/** The places of these names in a row. */
const PROGRAM = 0;
const POOL = 2;
/** In a terminal, so much of the name of a program is shown, */
const PROGRAM_COLUMNS = 16;
/** and at least so much of that of a pool beside its program. */
const LEAST_POOL = 12;

/**
 * A line for each pool, and below it what is to be said about it.
 *
 * @param columns of the terminal; 0 elsewhere: no line is broken, and no name shortened.
 */
export function programLines(
	programs: readonly JudgedProgram[],
	status: Status,
	columns: number,
): readonly string[] {
	const rows = programs.flatMap(({ facts, status }) => rowsOf(facts, status));
	if (rows.length === 0) return [];
	const cells = [TITLES, ...rows.map(({ cells }) => cells)];
	const { lines, indent } = tableFor(columns, cells);
	return lines.flatMap((line, index) => [
		...line
			.split("\n")
			.map((part) => (columns === 0 ? part : fitted(part, columns))),
		...(rows[index - 1]?.notes ?? [])
			// The first line has said it.
			.filter(({ remark }) => remark === undefined || remark !== status.remark)
			.flatMap(({ text }) => wrapped(text, columns, `  ${indent}`)),
	]);
}

interface FittedTable {
	/** One for each row; a row that begins a program may have a line break. */
	readonly lines: readonly string[];
	/** Of rows below the line of their program. */
	readonly indent: string;
}

/** Shortens the names of pools where a row is longer than the terminal is wide. Where that is not enough, programs have lines of their own. */
function tableFor(
	columns: number,
	cells: readonly (readonly string[])[],
): FittedTable {
	if (columns === 0) return { lines: table(cells), indent: "" };
	const named = shortenedTo(PROGRAM_COLUMNS, PROGRAM, cells);
	const lines = fittedTable(named, POOL, columns);
	if (widest(lines) <= columns) return { lines, indent: "" };
	const indent = "  ";
	const programs = table(named.map((row) => row.slice(0, POOL)));
	const ofPools = named.map((row) => row.slice(POOL));
	return {
		lines: fittedTable(ofPools, 0, columns - indent.length).map(
			(line, index) =>
				programs[index] === programs[index - 1]
					? indent + line
					: `${programs[index]}\n${indent}${line}`,
		),
		indent,
	};
}

/** A table in which one column is as narrow as the others make necessary. */
function fittedTable(
	cells: readonly (readonly string[])[],
	column: number,
	columns: number,
): readonly string[] {
	const lines = table(cells);
	const over = widest(lines) - columns;
	if (over <= 0) return lines;
	const left = widest(cells.map((row) => row[column] ?? "")) - over;
	return table(shortenedTo(Math.max(LEAST_POOL, left), column, cells));
}

function shortenedTo(
	columns: number,
	column: number,
	cells: readonly (readonly string[])[],
): readonly (readonly string[])[] {
	return cells.map((row) =>
		row.with(column, shortenedInside(row[column] ?? "", columns)),
	);
}

function widest(lines: readonly string[]): number {
	return Math.max(...lines.map(({ length }) => length));
}

interface Row {
	readonly cells: readonly string[];
	readonly notes: readonly Note[];
}

function rowsOf(facts: ProgramFacts, status: ProgramStatus): readonly Row[] {
	const { program, run } = namesOf(facts);
	const { pools } = status;
	const ofAll = programNotes(status);
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
	return { program: plainText(name), run: facts.runId };
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

function endedLines(ended: EndedRuns, columns: number): readonly string[] {
	const now = Date.now();
	const rows = [
		["PROGRAM", "RUN", "BEGAN", "LASTED", "END"],
		...ended.map((run) => [
			...[run.program?.name ?? "-", run.runId, dayAndTime(run.startedAt)],
			...[lasted(run, now), runEnd(run).word],
		]),
	];
	return columns === 0 ? table(rows) : fittedTable(rows, PROGRAM, columns);
}

/** What `--json` prints. */
function jsonOf(
	verdict: Status,
	programs: readonly JudgedProgram[],
	failed: readonly FailedProgram[],
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
		failed,
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
