import type { FailedCall, RunHistory } from "@snakepit/core/inspect";
import { foldedFrames, tellingLine } from "@snakepit/core/text";
import type { Command } from "commander";
import { CommandFailed, noteAbsent } from "../command/failures.ts";
import {
	DATA_DIR,
	JSON_FLAG,
	moment,
	positiveNumber,
} from "../command/flags.ts";
import {
	folded,
	quoted,
	shortenedInside,
	table,
	terminalColumns,
	write,
} from "../command/output.ts";
import {
	counted,
	dayAndTime,
	duration,
	plainText,
	whole as wholeNumber,
} from "../wording/figures.ts";
import {
	alikeText,
	type FoldedRow,
	foldedRows,
	timesText,
} from "./folded-rows.ts";
import { runMeant } from "./named-run.ts";
import { otherLedgerLines, otherLedgers } from "./other-ledgers.ts";

interface CallsFlags {
	readonly all?: boolean;
	readonly failed?: boolean;
	readonly since?: number;
	readonly command?: string;
	readonly pool?: string;
	readonly code?: string;
	readonly dataDir?: string;
	readonly json?: boolean;
	readonly lines?: boolean;
	readonly run?: string;
	readonly runs: number;
}

/** Adds `snakepit calls`, which needs no living run. */
export function addCalls(program: Command): void {
	program
		.command("calls")
		.description("list calls that failed or timed out, latest first")
		.option("--failed", "the calls that failed")
		.option("--since <time>", "only since then: 10m, 2h, 3d, or a day", moment)
		.option("--command <name>", "only calls of this command")
		.option("--pool <name>", "only calls of this pool")
		.option("--code <code>", "only calls with this code of the error")
		.option("--lines", "with whole messages and tracebacks")
		.option("--all", "every one, in a row of its own")
		.option(
			"--run <id>",
			"only this run: its id, the beginning of it, its program or a pool",
		)
		.option(
			"--runs <number>",
			"from at most this many runs",
			positiveNumber,
			200,
		)
		.option(...DATA_DIR)
		.option(...JSON_FLAG)
		.action(calls);
}

async function calls(flags: CallsFlags): Promise<void> {
	if (flags.failed !== true)
		throw new CommandFailed(
			"usage",
			"Which calls? snakepit calls --failed lists those that failed; snakepit top shows those that run.",
		);
	const recorded = (await read(flags)).flatMap(callsOfRun);
	const found = recorded
		.filter((call) => isWanted(call, flags))
		.toSorted((a, b) => b.wallMs - a.wallMs);
	if (flags.json) return write(JSON.stringify(found, undefined, 2));
	const columns = terminalColumns();
	const again = `snakepit calls ${process.argv.slice(3).map(quoted).join(" ")}`;
	const lines =
		found.length === 0
			? folded(noneText(recorded.length, flags), columns)
			: callLines(
					found,
					flags.lines ?? false,
					again,
					columns,
					flags.all ? "every" : "folded",
				);
	const isAll = flags.dataDir === undefined && flags.run === undefined;
	const others = isAll ? otherLedgerLines(await otherLedgers()) : [];
	for (const line of [
		...lines,
		...others.flatMap((each) => folded(each, columns)),
	])
		write(line);
}

function noneText(recorded: number, { dataDir, run }: CallsFlags): string {
	if (recorded > 0)
		return `${counted(recorded, "failed call is", "failed calls are")} recorded, and none of them is as asked for.`;
	if (run !== undefined) return `No failed call of run ${run} is recorded.`;
	return dataDir === undefined
		? "No failed call is recorded in the ledger of this user. That of a program with a dataDir of its own: --data-dir."
		: `No failed call is recorded in ${dataDir}.`;
}

/** A failed call and the run that it was made in. */
export interface CallOfRun extends FailedCall {
	readonly runId: string;
	/** The file name of the program, if the ledger has it. */
	readonly program: string | undefined;
}

function callsOfRun(run: RunHistory): readonly CallOfRun[] {
	const { runId, program, failedCalls } = run;
	return failedCalls.map((call) => ({
		...{ runId, program: program?.name },
		...call,
	}));
}

function isWanted(
	call: CallOfRun,
	{ since, command, pool, code }: CallsFlags,
): boolean {
	return (
		(since === undefined || call.wallMs >= since) &&
		(command === undefined || call.command === command) &&
		(pool === undefined || call.pool === pool) &&
		(code === undefined || call.code === code)
	);
}

/** The requested runs, latest first. */
async function read({
	dataDir,
	json,
	run = "",
	runs,
}: CallsFlags): Promise<readonly RunHistory[]> {
	const { readHistory } = await import("@snakepit/core/inspect");
	noteAbsent(dataDir, json);
	const meant = run === "" ? "" : await runMeant(run, dataDir);
	const found: RunHistory[] = [];
	for await (const each of readHistory({ dataDir, workersPerRun: 0 })) {
		if (!each.runId.startsWith(meant)) continue;
		if (found.push(each) === runs) break;
	}
	if (run !== "" && found.length === 0)
		throw new CommandFailed(
			"absent",
			`No run "${run}" is recorded. List recorded runs: snakepit history.`,
		);
	return found;
}

const MOST = 50;
const MOST_KINDS = 8;
const TITLES = [
	...["TIME", "RUN", "CALL", "COMMAND", "CODE"],
	...["WORKER", "TRIES", "WAITED", "RAN"],
];

/**
 * The first 50 calls as text: a row for each, and what is known of its failure below it. Those that failed alike and follow
 * each other are one row, that of the last.
 *
 * @param calls at least one.
 * @param whole with the whole message and the traceback; otherwise, the first line of the message.
 * @param again the command that lists the same calls.
 * @param columns of the terminal; 0 elsewhere: no line is broken.
 * @param rows `"every"`: all calls, each in a row of its own.
 */
export function callLines(
	calls: readonly CallOfRun[],
	whole: boolean,
	again: string,
	columns: number,
	rows: "folded" | "every",
): readonly string[] {
	const all: readonly FoldedRow<CallOfRun>[] =
		rows === "every"
			? calls.map((last) => ({ last, all: [last] }))
			: foldedRows(calls, kindOf);
	const shown = rows === "every" ? all : all.slice(0, MOST);
	const [titles = "", ...texts] = callRows(
		shown.map(({ last }) => last),
		columns,
	);
	const older = all.slice(shown.length).flatMap((row) => row.all).length;
	const isFolded = shown.some((row) => row.all.length > 1);
	return [
		totals(calls),
		titles,
		...texts.flatMap((text, index) => [
			text,
			...foldedDetails(shown[index], whole).map((line) => `    ${line}`),
		]),
		...(!whole && shown.some(({ last }) => isLong(last))
			? [`Whole messages and tracebacks: ${again} --lines`]
			: []),
		...(older > 0
			? [
					`${counted(older, "older call")} ${older === 1 ? "is" : "are"} not shown. All of them: ${again} --all`,
				]
			: isFolded
				? [`Each in a row of its own: ${again} --all`]
				: []),
	].flatMap((line) =>
		// A row of the narrow table is two lines.
		line.split("\n").flatMap((part) => folded(part, columns)),
	);
}

/** Equal for calls that failed alike, with the same input, on whichever worker. */
function kindOf(call: CallOfRun): string {
	const { runId, pool, command, code, workerId, message = "", args } = call;
	const lines = linesOf(message);
	const text = `${lines[0] ?? ""} ${tellingLine(lines.map((line) => line.replace(/^ {2}\| /, ""))) ?? ""}`;
	const said =
		workerId === undefined ? text : text.replaceAll(workerId, "worker");
	return jsonOf([runId, pool, command, code, alikeText(said), args]);
}

function foldedDetails(
	row: FoldedRow<CallOfRun> | undefined,
	whole: boolean,
): readonly string[] {
	if (row === undefined || row.all.length === 1)
		return detailsOf(row?.last, whole);
	const { last, all } = row;
	const firstMs = all.at(-1)?.wallMs ?? last.wallMs;
	return [
		timesText(countOf(all), firstMs, last.wallMs),
		...detailsOf({ ...last, alike: 0 }, whole),
	];
}

/** The titles, and a row for each call: of two lines where the terminal is too narrow for one. */
function callRows(
	calls: readonly CallOfRun[],
	columns: number,
): readonly string[] {
	const wide = table([TITLES, ...calls.map(rowOf)]);
	if (columns === 0 || wide.every(({ length }) => length <= columns))
		return wide;
	const cells = calls.map((call) => {
		const [time = "", , id = "", command = "", code = ""] = rowOf(call);
		return { time, id: shortenedInside(id, ID_COLUMNS), command, code };
	});
	const taken = (cell: "time" | "id" | "code"): number =>
		Math.max(0, ...cells.map((each) => each[cell].length));
	const gaps = 6;
	// The code says what failed: it is whole.
	const left = columns - taken("time") - taken("id") - taken("code") - gaps;
	const [titles = "", ...rows] = table([
		["TIME", "CALL", "COMMAND", "CODE"],
		...cells.map(({ time, id, command, code }) => [
			...[time, id],
			...[shortenedInside(command, Math.max(LEAST_COMMAND, left)), code],
		]),
	]);
	return [
		titles,
		...rows.map((row, index) => `${row}\n    ${whereText(calls[index])}`),
	];
}

const ID_COLUMNS = 16;
const LEAST_COMMAND = 8;

/** What a narrow row has no column for. */
function whereText(call: CallOfRun | undefined): string {
	if (call === undefined) return "";
	const { runId, workerId, attempts, waitedMs, ranMs } = call;
	const on = workerId === undefined ? "no worker" : `on ${workerId}`;
	return `run ${runId}, ${on}, ${counted(attempts, "try", "tries")}, waited ${duration(waitedMs)}, ran ${duration(ranMs)}`;
}

/** With those that are only counted. */
function countOf(calls: readonly CallOfRun[]): number {
	return calls.reduce((all, { alike }) => all + 1 + alike, 0);
}

/**
 * How many calls failed, and with which commands and codes most often: a rare failure is not hidden by a frequent one. Of
 * several programs, or several pools of one, it names them.
 */
function totals(calls: readonly CallOfRun[]): string {
	const place = placeOf(calls);
	const kinds = [
		...Map.groupBy(calls, (call) => {
			const { command = "", code } = call;
			return `${`${oneLine(command)} ${code}`.trim()}${place(call)}`;
		}),
	]
		.map(([kind, some]) => ({ kind, count: countOf(some) }))
		.toSorted((a, b) => b.count - a.count);
	const parts = kinds
		.slice(0, MOST_KINDS)
		.map(({ kind, count }) => `${wholeNumber(count)} ${kind}`);
	const others = kinds.length - parts.length;
	if (others > 0) parts.push(`and ${counted(others, "more kind")}`);
	return `${counted(countOf(calls), "call")} failed: ${parts.join(", ")}.`;
}

/** What tells the calls' places apart: their programs, otherwise their pools. */
function placeOf(calls: readonly CallOfRun[]): (call: CallOfRun) => string {
	const program = ({ program, runId }: CallOfRun): string =>
		program ?? `run ${runId}`;
	if (new Set(calls.map(program)).size > 1)
		return (call) => ` in ${oneLine(program(call))}`;
	return new Set(calls.map(({ pool }) => pool)).size > 1
		? ({ pool }) => ` in pool ${oneLine(pool)}`
		: () => "";
}

function rowOf(call: CallOfRun): readonly string[] {
	const { wallMs, runId, pool, callId, command, code, workerId } = call;
	return [
		dayAndTime(wallMs),
		runId,
		`${oneLine(pool)}/${callId}`,
		command === undefined ? "" : oneLine(command),
		code,
		workerId ?? "",
		String(call.attempts),
		duration(call.waitedMs),
		duration(call.ranMs),
	];
}

function isLong({ message = "", traceback }: CallOfRun): boolean {
	return traceback !== undefined || message.trim().includes("\n");
}

/** What is known of a failure, a line each. @param whole with the whole message and the traceback. */
export function detailsOf(
	call: FailedCall | undefined,
	whole: boolean,
): readonly string[] {
	if (call === undefined) return [];
	const { message, traceback, args, traceId, alike } = call;
	const lines = linesOf(message);
	return [
		...(whole ? foldedFrames(lines) : lines.slice(0, 1)),
		...(args === undefined ? [] : [`arguments: ${oneLine(jsonOf(args))}`]),
		...(traceId === undefined ? [] : [`trace: ${traceId}`]),
		...(alike === 0 ? [] : [`${wholeNumber(alike)} more like it`]),
		...(whole ? linesOf(traceback) : []),
	];
}

function linesOf(text = ""): readonly string[] {
	const trimmed = text.trim();
	return trimmed === "" ? [] : trimmed.split("\n").map(plainText);
}

function jsonOf(value: unknown): string {
	return JSON.stringify(value) ?? "";
}

function oneLine(text: string): string {
	return plainText(text).replaceAll("\n", " ");
}
