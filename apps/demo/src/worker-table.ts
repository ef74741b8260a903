import type { WorkerState } from "@snakepit/core/infrastructure";
import { count, duration } from "./figures.ts";
import { cutLine, type Line, type Piece, type Tone } from "./line.ts";
import type { Pulse, WorkerRow } from "./worker-board.ts";

const TONE_OF_STATE: Readonly<Record<WorkerState, Tone>> = {
	starting: "busy",
	ready: "good",
	draining: "faint",
	stopping: "faint",
	exited: "faint",
};

interface Column {
	readonly title: string;
	readonly width: number;
	readonly align: "left" | "right";
	readonly cell: (row: WorkerRow, nowMs: number) => Piece;
}

/** In their order on the screen. */
const COLUMNS = {
	worker: {
		title: "worker",
		width: 10,
		align: "left",
		cell: ({ workerId }) => ["plain", workerId],
	},
	state: {
		title: "state",
		width: 8,
		align: "left",
		cell: ({ state, lost }) => [lost ? "bad" : TONE_OF_STATE[state], state],
	},
	pid: {
		title: "pid",
		width: 7,
		align: "right",
		cell: ({ pid }) => ["plain", pid === undefined ? "-" : String(pid)],
	},
	calls: {
		title: "calls",
		width: 6,
		align: "right",
		cell: ({ calls }) => ["plain", count(calls)],
	},
	heartbeat: {
		title: "heartbeat",
		width: 19,
		align: "left",
		cell: ({ pulse }, nowMs) => pulsePiece(pulse, nowMs),
	},
	replaces: {
		title: "",
		width: 16,
		align: "left",
		cell: ({ replaces }) => [
			"faint",
			replaces === undefined ? "" : `replaces ${replaces}`,
		],
	},
} as const satisfies Readonly<Record<string, Column>>;
type ColumnName = keyof typeof COLUMNS;

/** Where not all have room, the last of these goes first. */
const IMPORTANCE: readonly ColumnName[] = [
	"worker",
	"state",
	"pid",
	"calls",
	"heartbeat",
	"replaces",
];
const GAP = "  ";

/** Draws the workers, as many columns of the table as fit. */
export function drawWorkerTable(
	rows: readonly WorkerRow[],
	nowMs: number,
	columns: number,
): Line[] {
	const shown = columnsThatFit(columns);
	const head: Line = shown.flatMap((name) => {
		const column = COLUMNS[name];
		return padded(["faint", column.title], column);
	});
	const body = rows.map((row) =>
		shown.flatMap((name) => {
			const column = COLUMNS[name];
			return padded(column.cell(row, nowMs), column);
		}),
	);
	return [head, ...body].map((line) => cutLine(line, columns));
}

function columnsThatFit(columns: number): ColumnName[] {
	let left = columns + GAP.length;
	const fitting = new Set<ColumnName>();
	for (const name of IMPORTANCE) {
		left -= COLUMNS[name].width + GAP.length;
		if (left < 0 && fitting.size > 0) break;
		fitting.add(name);
	}
	return (Object.keys(COLUMNS) as ColumnName[]).filter((name) =>
		fitting.has(name),
	);
}

function padded([tone, text]: Piece, { width, align }: Column): Piece[] {
	const fill = " ".repeat(Math.max(0, width - text.length));
	const cell: Piece = [tone, text.slice(0, width)];
	return align === "left"
		? [cell, ["plain", fill + GAP]]
		: [["plain", fill], cell, ["plain", GAP]];
}

function pulsePiece(pulse: Pulse, nowMs: number): Piece {
	switch (pulse.kind) {
		case "none":
			return ["faint", "-"];
		case "answered": {
			const ago = (Math.max(0, nowMs - pulse.atMs) / 1_000).toFixed(1);
			return ["plain", `${duration(pulse.latencyMs)}, ${ago} s ago`];
		}
		case "missed":
			return ["busy", `missed ${pulse.inARow}`];
		case "busy":
			return ["busy", "busy"];
		case "hung":
			return ["bad", "hung"];
	}
}
