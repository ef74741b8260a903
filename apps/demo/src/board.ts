import type {
	EventOf,
	SnakepitEvent,
	WorkerRef,
	WorkerView,
} from "@snakepit/core";
import { count, duration } from "./figures.ts";
import { cutLine, type Line, type Piece, type Tone } from "./line.ts";

type WorkerState = WorkerView["state"];
type EndReason = EventOf<"worker.exited">["reason"];

/** How far the work is. */
export interface Progress {
	readonly done: number;
	readonly total: number;
	/** Finished per second so far. */
	readonly perSecond: number;
}

/** One slot of the pool and the process that is in it now. */
interface Row {
	readonly workerId: string;
	readonly incarnation: string;
	readonly state: WorkerState;
	readonly pid: number | undefined;
	/** Calls that this process has finished. */
	readonly calls: number;
	readonly heartbeat: (nowMs: number) => Piece;
	/** Whether it ended although this program did not ask it to. */
	readonly lost: boolean;
	/** The pid of the process that was in the slot before. */
	readonly replaces: number | undefined;
}

const UNWANTED: ReadonlySet<EndReason> = new Set([
	"exited",
	"broken",
	"hung",
	"stuck",
	"vanished",
]);

/** Whether a worker ended although this program did not ask it to. */
export function isUnwanted(reason: EndReason): boolean {
	return UNWANTED.has(reason);
}

/** The live board: a progress bar, and one row per worker, kept up to date by the pool's events. */
export class Board {
	readonly #rows = new Map<string, Row>();
	/** Until it is set, the bar shows how many workers are ready. */
	progress: Progress | undefined;

	get isEmpty(): boolean {
		return this.#rows.size === 0;
	}

	handle(event: SnakepitEvent): void {
		switch (event.type) {
			case "worker.starting":
				this.#rows.set(event.workerId, {
					workerId: event.workerId,
					incarnation: event.incarnation,
					state: "starting",
					pid: undefined,
					calls: 0,
					heartbeat: () => ["faint", "-"],
					lost: false,
					replaces: this.#rows.get(event.workerId)?.pid,
				});
				break;
			case "worker.spawned":
				this.#update(event, () => ({ pid: event.pid }));
				break;
			case "worker.ready":
				this.#update(event, () => ({ state: "ready" }));
				break;
			case "worker.retiring":
				this.#update(event, () => ({ state: "draining" }));
				break;
			case "worker.condemned":
			case "worker.start_failed":
			case "worker.stop_step":
				this.#update(event, () => ({ state: "stopping" }));
				break;
			case "worker.exited": {
				const lost = isUnwanted(event.reason);
				this.#update(event, () => ({ state: "exited", lost }));
				break;
			}
			case "call.released":
				this.#update(event, ({ calls }) => ({ calls: calls + 1 }));
				break;
			case "heartbeat.answered": {
				const { latencyMs, wallMs } = event;
				this.#heartbeat(event, (nowMs) => {
					const ago = (Math.max(0, nowMs - wallMs) / 1_000).toFixed(1);
					return ["plain", `${duration(latencyMs)}, ${ago} s ago`];
				});
				break;
			}
			case "heartbeat.missed":
				this.#heartbeat(event, () => ["busy", `missed ${event.missedInARow}`]);
				break;
			case "heartbeat.busy":
				this.#heartbeat(event, () => ["busy", "busy"]);
				break;
			case "heartbeat.hung":
				this.#heartbeat(event, () => ["bad", "hung"]);
				break;
		}
	}

	#heartbeat(ref: WorkerRef, heartbeat: Row["heartbeat"]): void {
		this.#update(ref, () => ({ heartbeat }));
	}

	/** Ignores events of a process that no longer has the slot or has exited. */
	#update(ref: WorkerRef, change: (row: Row) => Partial<Row>): void {
		const row = this.#rows.get(ref.workerId);
		if (row?.incarnation !== ref.incarnation || row.state === "exited") return;
		this.#rows.set(ref.workerId, { ...row, ...change(row) });
	}

	/** Draws the board for a terminal of this size; a narrow one gets fewer columns. */
	draw(nowMs: number, columns: number, rows: number): Line[] {
		const workers = [...this.#rows.values()].sort((a, b) =>
			a.workerId.localeCompare(b.workerId, "en", { numeric: true }),
		);
		const ready = workers.filter(({ state }) => state === "ready").length;
		const shown = columnsThatFit(columns);
		const head = shown.flatMap((column) =>
			pad(["faint", column.title], column),
		);
		const body = workers.map((row) =>
			shown.flatMap((column) => pad(column.cell(row, nowMs), column)),
		);
		const bar =
			this.progress === undefined
				? drawBar("training in each worker", ready, workers.length, columns)
				: drawProgress(this.progress, columns);
		return [[], bar, [], head, ...body, []]
			.slice(0, Math.max(1, rows))
			.map((line) => cutLine(line, columns));
	}
}

interface Column {
	readonly title: string;
	readonly width: number;
	readonly align: "left" | "right";
	readonly cell: (row: Row, nowMs: number) => Piece;
}

const TONE_OF_STATE: Readonly<Record<WorkerState, Tone>> = {
	starting: "busy",
	ready: "good",
	draining: "faint",
	stopping: "faint",
	exited: "faint",
};

/** From left to right, the most important first: what has no room is left out from the right. */
const COLUMNS: readonly Column[] = [
	{
		title: "worker",
		width: 10,
		align: "left",
		cell: ({ workerId }) => ["plain", workerId],
	},
	{
		title: "state",
		width: 8,
		align: "left",
		cell: ({ state, lost }) => [lost ? "bad" : TONE_OF_STATE[state], state],
	},
	{
		title: "pid",
		width: 7,
		align: "right",
		cell: ({ pid }) => ["plain", `${pid ?? "-"}`],
	},
	{
		title: "calls",
		width: 6,
		align: "right",
		cell: ({ calls }) => ["plain", count(calls)],
	},
	{
		title: "heartbeat",
		width: 19,
		align: "left",
		cell: ({ heartbeat }, nowMs) => heartbeat(nowMs),
	},
	{
		title: "",
		width: 16,
		align: "left",
		cell: ({ replaces }) => ["faint", replaces ? `replaces ${replaces}` : ""],
	},
];
const GAP = "  ";

function columnsThatFit(columns: number): readonly Column[] {
	let right = -GAP.length;
	const fitting = COLUMNS.filter(({ width }) => {
		right += GAP.length + width;
		return right <= columns;
	});
	return fitting.length === 0 ? COLUMNS.slice(0, 1) : fitting;
}

function pad([tone, text]: Piece, { width, align }: Column): Piece[] {
	const fill = " ".repeat(Math.max(0, width - text.length));
	const cell: Piece = [tone, text.slice(0, width)];
	return align === "left"
		? [cell, ["plain", fill + GAP]]
		: [["plain", fill], cell, ["plain", GAP]];
}

const SHORTEST_BAR = 8;
const LONGEST_BAR = 40;

function drawProgress(progress: Progress, columns: number): Line {
	const { done, total, perSecond } = progress;
	const rate = `  ${count(perSecond).padStart(5)}/s`;
	return drawBar("reading digits", done, total, columns, rate);
}

/** Draws a label, a bar and figures; without room for a bar, the figures alone. */
function drawBar(
	label: string,
	done: number,
	total: number,
	columns: number,
	rate = "",
): Line {
	const of = count(total);
	// As wide for the first as for the last, so that the bar keeps its length.
	const figures = `${count(done).padStart(of.length)} of ${of}`;
	const room = columns - label.length - figures.length - rate.length - 4;
	if (room < SHORTEST_BAR) return [["strong", figures.trimStart()]];
	const width = Math.min(room, LONGEST_BAR);
	// It is full only when all is done.
	const full = Math.floor(Math.min(1, done / Math.max(1, total)) * width);
	return [
		["plain", `${label}  `],
		["good", "━".repeat(full)],
		["faint", "─".repeat(width - full)],
		["strong", `  ${figures}`],
		["faint", rate],
	];
}
