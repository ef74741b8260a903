import { styleText } from "node:util";
import type { SnakepitEvent } from "@snakepit/core";
import { Board, type Progress } from "./board.ts";
import { count } from "./figures.ts";
import {
	type Line,
	type Paint,
	paintLine,
	plain,
	unpainted,
	widthOf,
} from "./line.ts";
import { narrate } from "./narration.ts";

/** What a person sees while the demo runs. */
export interface Display {
	/** The width for lines that are printed. */
	readonly columns: number;
	/** Takes every event of the pool. */
	handle(event: SnakepitEvent): void;
	/** Prints a line that stays. */
	print(line: Line | string): void;
	progress(progress: Progress): void;
	/** Leaves the terminal as it was; lines can still be printed. Idempotent. */
	close(): void;
}

/** Shows a live board if there is a terminal to show it on, else lines. */
export function openDisplay(wanted: "live" | "plain"): Display {
	const { stdout } = process;
	const isTerminal = stdout.isTTY && process.env["TERM"] !== "dumb";
	return isTerminal && wanted === "live"
		? new LiveDisplay(stdout, ansi)
		: new PlainDisplay((text) => stdout.write(text));
}

const STYLE = {
	strong: "bold",
	good: "green",
	busy: "yellow",
	bad: "red",
	faint: "dim",
} as const;

/** Colours of a terminal; none if NO_COLOR is set. */
const ansi: Paint = (tone, text) =>
	tone === "plain"
		? text
		: styleText(STYLE[tone], text, { stream: process.stdout });

/** Prints everything as lines, for files, pipes and screen readers. */
export class PlainDisplay implements Display {
	readonly columns: number = Number.POSITIVE_INFINITY;
	readonly #write: (text: string) => void;
	#tenths = 0;

	constructor(write: (text: string) => void) {
		this.#write = write;
	}

	handle(event: SnakepitEvent): void {
		const line = narrate(event);
		if (line !== undefined) this.print(line);
	}

	print(line: Line | string): void {
		this.#write(`${paintLine(toLine(line), unpainted)}\n`);
	}

	/** Prints a line for every tenth of the work. */
	progress({ done, total }: Progress): void {
		const tenths = Math.floor((10 * done) / total);
		if (tenths <= this.#tenths) return;
		this.#tenths = tenths;
		this.print(progressLine(done, total));
	}

	close(): void {}
}

/** A line that says how far the work is, for {@link doneIn} to read. */
function progressLine(done: number, total: number): string {
	const percent = `${Math.floor((100 * done) / total)}`.padStart(3);
	return `${percent} %  reading digits: ${count(done)} of ${count(total)}`;
}

/** Reads the share that is done from a {@link progressLine}; `undefined` for any other line. */
export function doneIn(line: string): number | undefined {
	const [, percent] = /^ *(\d+) % {2}reading/.exec(line) ?? [];
	return percent === undefined ? undefined : Number(percent) / 100;
}

function toLine(line: Line | string): Line {
	return typeof line === "string" ? plain(line) : line;
}

const FRAME_MS = 80;
const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";
/** Terminals that know these two show the frame between them at once; others ignore them. */
const BEGIN_FRAME = "\x1b[?2026h";
const END_FRAME = "\x1b[?2026l";
const CLEAR_LINE_REST = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";
const up = (rows: number) => (rows > 0 ? `\x1b[${rows}F` : "\r");

/** The part of a terminal that a display uses. */
export interface Terminal {
	readonly columns: number;
	readonly rows: number;
	write(text: string): unknown;
}

/** Shows the board and updates it in place; printed lines go above it. */
export class LiveDisplay implements Display {
	readonly #terminal: Terminal;
	readonly #paint: Paint;
	readonly #board = new Board();
	readonly #timer: NodeJS.Timeout;
	#shown: readonly Line[] = [];
	#unprinted: Line[] = [];
	#life: "waiting" | "shown" | "closed" = "waiting";
	readonly #close = () => this.close();

	constructor(terminal: Terminal, paint: Paint) {
		this.#terminal = terminal;
		this.#paint = paint;
		this.#timer = setInterval(() => this.#draw(), FRAME_MS);
		this.#timer.unref();
		process.once("exit", this.#close);
	}

	get columns(): number {
		return this.#terminal.columns || 80;
	}

	handle(event: SnakepitEvent): void {
		this.#board.handle(event);
		const line = narrate(event);
		if (line !== undefined) this.print(line);
		// The program ends by the signal when the workers are gone: no exit hook runs then.
		if (event.type === "host.signal_received") this.close();
	}

	print(line: Line | string): void {
		if (this.#life === "closed")
			this.#terminal.write(`${paintLine(toLine(line), this.#paint)}\n`);
		else this.#unprinted.push(toLine(line));
	}

	progress(progress: Progress): void {
		this.#board.progress = progress;
	}

	close(): void {
		if (this.#life === "closed") return;
		this.#draw();
		if (this.#life === "shown") this.#terminal.write(SHOW_CURSOR);
		this.#life = "closed";
		clearInterval(this.#timer);
		process.removeListener("exit", this.#close);
	}

	/** Draws one frame, in one write. */
	#draw(): void {
		const { columns } = this;
		const rows = this.#terminal.rows || 24;
		const paint = (line: Line) =>
			`${paintLine(line, this.#paint)}${CLEAR_LINE_REST}\n`;
		const printed = this.#unprinted.map(paint);
		this.#unprinted = [];
		if (this.#life === "waiting" && this.#board.isEmpty) {
			// There is no board yet: the cursor stays visible.
			if (printed.length > 0) this.#terminal.write(printed.join(""));
			return;
		}
		// Text in the last column or row would make the terminal wrap or scroll.
		const frame = this.#board.draw(Date.now(), columns - 1, rows - 1);
		this.#terminal.write(
			[
				BEGIN_FRAME,
				HIDE_CURSOR,
				up(rowsTaken(this.#shown, columns)),
				...printed,
				...frame.map(paint),
				CLEAR_BELOW,
				END_FRAME,
			].join(""),
		);
		this.#shown = frame;
		this.#life = "shown";
	}
}

/** How many rows a frame takes now: a terminal that has become narrower has wrapped its lines. */
function rowsTaken(frame: readonly Line[], columns: number): number {
	return frame.reduce(
		(rows, line) => rows + Math.max(1, Math.ceil(widthOf(line) / columns)),
		0,
	);
}
