import type { ServedTick, WorkerSnapshot } from "@snakepit/control";
import { fitted, table, wrapped } from "../command/output.ts";
import {
	bytes,
	counted,
	duration,
	placed,
	plainText,
	rate,
} from "../wording/figures.ts";
import {
	type JudgedProgram,
	type Note,
	type PoolStatus,
	poolNotes,
	programName,
	programNotes,
	type Status,
	type StatusLevel,
	statusOf,
} from "../wording/program-status.ts";
import type { RecentCalls, RecentlyEnded } from "./recent-calls.ts";
import type { ScreenLine } from "./screen.ts";

/** One program as `top` shows it. */
export interface ShownProgram extends JudgedProgram {
	/** The last that it sent; `undefined` for a program that sends none. */
	readonly tick: ServedTick | undefined;
	/** The calls that ended lately, where there is a tick. */
	readonly ended: Pick<RecentlyEnded, "of"> | undefined;
}

/** A line of the view, before it has a colour. */
export interface ViewLine {
	readonly text: string;
	readonly level?: StatusLevel | undefined;
}

/** What fits on the screen, and where in all lines that is. */
export interface ScreenPart {
	readonly lines: readonly ScreenLine[];
	/** The first line of the body that is shown, once it is within its bounds. */
	readonly top: number;
	/** How many lines of the body are shown at most. */
	readonly height: number;
}

/** The number of each colour in a terminal. */
const COLOURS: Readonly<Record<StatusLevel, number | undefined>> = {
	fine: undefined,
	busy: 33,
	unknown: 33,
	trouble: 31,
};
const FINE_FIRST = 32;
/** Lines of the verdict. */
const VERDICT_ROWS = 6;

/** The verdict, and everything that is known about the programs. */
export function topView(
	programs: readonly ShownProgram[],
	pool: string | undefined,
	columns: number,
): { readonly status: Status; readonly body: readonly ViewLine[] } {
	const status = statusOf(programs);
	const body = programs.flatMap((program) =>
		programView(program, pool, status, columns),
	);
	return { status, body };
}

/**
 * The part of a view that fits on a screen: the verdict always, then as much as there is room for, and the keys.
 *
 * @param top the first line of the body that is wanted.
 */
export function screenPart(
	{ status, body }: ReturnType<typeof topView>,
	size: { readonly columns: number; readonly rows: number },
	top: number,
	keys: string | undefined,
	isColoured: boolean,
): ScreenPart {
	const { columns, rows } = size;
	const verdict = wrapped(status.text, columns, "").slice(
		0,
		Math.max(1, Math.min(VERDICT_ROWS, rows - 2)),
	);
	const height = Math.max(
		1,
		rows - verdict.length - (keys === undefined ? 0 : 1),
	);
	const first = Math.max(0, Math.min(top, body.length - height));
	const shown = body.slice(first, first + height);
	const colour = COLOURS[status.level] ?? FINE_FIRST;
	const coloured = (text: string, level: StatusLevel | undefined) => ({
		text: fitted(text, columns),
		colour: isColoured && level !== undefined ? COLOURS[level] : undefined,
	});
	const empty = Array.from({ length: height - shown.length }, () => ({
		text: "",
	}));
	const position =
		body.length > height
			? `lines ${first + 1}-${first + shown.length} of ${body.length}`
			: "";
	return {
		...{ top: first, height },
		lines: [
			...verdict.map((text) => ({
				text: fitted(text, columns),
				colour: isColoured ? colour : undefined,
			})),
			...shown.map(({ text, level }) => coloured(text, level)),
			...(keys === undefined
				? []
				: [...empty, { text: footer(keys, position, columns) }]),
		],
	};
}

function footer(keys: string, position: string, columns: number): string {
	const free = columns - keys.length - position.length;
	return free > 0
		? `${keys}${" ".repeat(free)}${position}`
		: fitted(`${keys}  ${position}`, columns);
}

function programView(
	{ facts, status, tick, ended }: ShownProgram,
	pool: string | undefined,
	whole: Status,
	columns: number,
): readonly ViewLine[] {
	// The verdict has said it, if it has been shown in full.
	const isSaid = ({ remark }: Note): boolean =>
		remark !== undefined &&
		remark === whole.remark &&
		wrapped(whole.text, columns, "").length <= VERDICT_ROWS;
	const lines = (notes: readonly Note[], indent: string): readonly ViewLine[] =>
		notes
			.filter((note) => !isSaid(note))
			.flatMap(({ text, level }) =>
				wrapped(text, columns, indent).map((text) => ({ text, level })),
			);
	const ofAll = programNotes(status);
	if (facts.kind !== "living") return [{ text: "" }, ...lines(ofAll, "")];
	const { runId, startedAtMs } = facts;
	const now = tick?.run.wallMs ?? Date.now();
	const age =
		startedAtMs === undefined
			? ""
			: `, open for ${duration(now - startedAtMs)}`;
	const pools = status.pools.filter(
		(each) => pool === undefined || each.pool === pool,
	);
	if (pool !== undefined && status.pools.length > 0 && pools.length === 0)
		return [];
	return [
		{ text: "" },
		{
			text: `${programName(facts)}, run ${runId}${age}: ${status.words}`,
			level: status.level,
		},
		...lines(ofAll, "  "),
		...pools.flatMap((each) => [
			...poolHead(each),
			...lines(poolNotes(each, now), "  "),
			...(tick === undefined ? [] : poolBody(each, ended?.of(each.pool))),
		]),
	];
}

function poolHead({
	pool,
	level,
	words,
	ready,
	busy,
	snapshot,
}: PoolStatus): readonly ViewLine[] {
	const { adapter, size, queue, restarts } = snapshot;
	const workers =
		size.min === size.max ? `${size.max}` : `${size.min} to ${size.max}`;
	return [
		{
			text: plainText(
				`${pool}: ${words}; ${ready} of ${workers} ready, ${busy} busy, ${queue.waiting} waiting, ${counted(restarts, "restart")} (${adapter})`,
			),
			level,
		},
	];
}

function poolBody(
	{ snapshot }: PoolStatus,
	recent: RecentCalls | undefined,
): readonly ViewLine[] {
	const { calls, workers } = snapshot;
	const done = `calls: ${calls.running} running, ${calls.succeeded} done, ${calls.failed + calls.timed_out} failed`;
	const rows = table([
		["WORKER", "STATE", "PID", "MEMORY", "CPU", "CALLS", "RUNS", "FOR"],
		...workers.map(workerRow),
	]);
	return [
		done,
		...recentLines(recent, calls.running),
		...(workers.length === 0 ? [] : rows),
	].map((text) => ({
		text: `  ${plainText(text)}`,
	}));
}

/** So many calls are the first of which one does not exceed 99 %. */
const HUNDRED = 100;

/** How many calls ended lately and how long they took, with the time that this is of; nothing of a pool that does nothing. */
export function recentLines(
	recent: RecentCalls | undefined,
	running: number,
): readonly string[] {
	if (recent === undefined) return [];
	const { windowMs, ended, medianMs, most99Ms, longestMs } = recent;
	const seconds = windowMs / 1_000;
	const of = `last ${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
	if (ended === 0) return running === 0 ? [] : [`${of}: no call has ended`];
	const perSecond = ended / seconds;
	const how =
		ended < FEW || perSecond < 1
			? counted(ended, "call")
			: `${rate(perSecond)} calls/s`;
	const most =
		ended < HUNDRED
			? `longest ${duration(longestMs)}`
			: `99 % within ${duration(most99Ms)}`;
	return [`${of}: ${how}, median ${duration(medianMs)}, ${most}`];
}

/** So few calls are counted: a rate would look more certain than it is. */
const FEW = 10;

function workerRow(worker: WorkerSnapshot): readonly string[] {
	const { usage, running, heartbeat } = worker;
	const [oldest] = running;
	const more = running.length > 1 ? ` and ${running.length - 1} more` : "";
	const silent =
		heartbeat !== null && heartbeat.missedInARow > 0
			? `, silent for ${duration(heartbeat.silentMs)}`
			: "";
	const processors = usage?.processors ?? null;
	return [
		placed(worker.workerId, worker.location),
		`${worker.state}${silent}`,
		String(worker.location?.pid ?? worker.pid ?? "-"),
		usage === null ? "-" : bytes(usage.residentBytes),
		processors === null ? "-" : `${(processors * 100).toFixed(0)} %`,
		String(worker.callsTaken),
		oldest === undefined ? "-" : `${oldest.command}${noteOn(oldest)}${more}`,
		oldest === undefined ? "-" : duration(oldest.forMs),
	];
}

/** Describes what is unusual about a running call. */
function noteOn({
	attempt,
	cancelled,
}: WorkerSnapshot["running"][number]): string {
	const notes = [
		attempt > 1 ? `attempt ${attempt}` : [],
		cancelled ? "cancelled" : [],
	].flat();
	return notes.length === 0 ? "" : ` (${notes.join(", ")})`;
}
