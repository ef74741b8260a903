import type { Display } from "./display.ts";
import { type Line, type Paint, paintLine, widthOf } from "./line.ts";
import { drawLiveView } from "./live-view.ts";
import { narrate } from "./narration.ts";
import type { Progress } from "./progress-bar.ts";
import { WorkerBoard } from "./worker-board.ts";

const FRAME_MS = 80;
const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";
/** Terminals that know these two show the frame between them at once; others ignore them. */
const BEGIN_FRAME = "\x1b[?2026h";
const END_FRAME = "\x1b[?2026l";
const CLEAR_LINE_REST = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";
const up = (rows: number) => (rows > 0 ? `\x1b[${rows}F` : "\r");

/** What is needed of a terminal. */
export interface Terminal {
	readonly columns: number;
	readonly rows: number;
	write(text: string): unknown;
}

/** Shows a bar and the table of workers that update in place; lines that are said go above them. */
export class LiveDisplay implements Display {
	readonly #terminal: Terminal;
	readonly #paint: Paint;
	readonly #board = new WorkerBoard();
	readonly #timer: NodeJS.Timeout;
	#progress: Progress | undefined;
	#shown: readonly Line[] = [];
	#unsaid: string[] = [];
	#life: "waiting" | "shown" | "closed" = "waiting";
	readonly #close = () => this.close();

	constructor(terminal: Terminal, paint: Paint) {
		this.#terminal = terminal;
		this.#paint = paint;
		this.#timer = setInterval(() => this.#draw(), FRAME_MS);
		this.#timer.unref();
		process.once("exit", this.#close);
	}

	hear(event: Parameters<Display["hear"]>[0]): void {
		this.#board.hear(event);
		const line = narrate(event);
		if (line !== undefined) this.say(line);
		// The signal is raised again when the workers are gone: no exit hook will run then.
		if (event.type === "host.signal_received") this.close();
	}

	say(line: string): void {
		if (this.#life === "closed") this.#terminal.write(`${line}\n`);
		else this.#unsaid.push(line);
	}

	progress(progress: Progress): void {
		this.#progress = progress;
	}

	close(): void {
		if (this.#life === "closed") return;
		this.#draw();
		if (this.#life === "shown") this.#terminal.write(SHOW_CURSOR);
		this.#life = "closed";
		clearInterval(this.#timer);
		process.removeListener("exit", this.#close);
	}

	/** One frame, in one write. */
	#draw(): void {
		const columns = this.#terminal.columns || 80;
		const rows = this.#terminal.rows || 24;
		const said = this.#unsaid.map((line) => `${line}${CLEAR_LINE_REST}\n`);
		this.#unsaid = [];
		if (this.#life === "waiting" && this.#board.rows.length === 0) {
			// Nothing to show yet: plain lines, and the cursor stays.
			if (said.length > 0) this.#terminal.write(said.join(""));
			return;
		}
		// In the last column and the last row a terminal would wrap or scroll.
		const view = drawLiveView(
			{
				progress: this.#progress,
				workers: this.#board.rows,
				nowMs: Date.now(),
			},
			columns - 1,
			rows - 1,
		);
		const painted = view.map(
			(line) => `${paintLine(line, this.#paint)}${CLEAR_LINE_REST}\n`,
		);
		this.#terminal.write(
			[
				BEGIN_FRAME,
				HIDE_CURSOR,
				up(rowsTaken(this.#shown, columns)),
				...said,
				...painted,
				CLEAR_BELOW,
				END_FRAME,
			].join(""),
		);
		this.#shown = view;
		this.#life = "shown";
	}
}

/** How many rows a frame takes now: where the terminal was made narrower, its lines were wrapped. */
function rowsTaken(frame: readonly Line[], columns: number): number {
	return frame.reduce(
		(rows, line) => rows + Math.max(1, Math.ceil(widthOf(line) / columns)),
		0,
	);
}
