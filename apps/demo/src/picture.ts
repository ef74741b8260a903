import { stripVTControlCharacters } from "node:util";
import type { SnakepitEvent } from "@snakepit/core";
import { Board, isUnwanted, type Progress } from "./board.ts";
import type { Display } from "./display.ts";
import { type Line, plain, type Tone, widthOf } from "./line.ts";
import { narrate } from "./narration.ts";

const COLUMNS = 96;

/** Records what another display shows, for a picture: the board while a killed worker is replaced, and the report. */
export class PictureDisplay implements Display {
	readonly #shown: Display;
	readonly #board = new Board();
	/** What was printed before the picture of the board, and after the display was closed. */
	readonly #before: Line[] = [];
	readonly #report: Line[] = [];
	#frame: readonly Line[] = [];
	#moment: "before the kill" | "replacing" | "taken" | "closed" =
		"before the kill";

	constructor(shown: Display) {
		this.#shown = shown;
	}

	get columns(): number {
		return Math.min(COLUMNS, this.#shown.columns);
	}

	handle(event: SnakepitEvent): void {
		this.#shown.handle(event);
		this.#board.handle(event);
		// A picture is published, and the adapter's note has paths of this machine.
		const line =
			event.type === "pool.adapter_noted" ? undefined : narrate(event);
		if (line !== undefined) this.#record(plain(line));
		if (event.type === "worker.exited" && isUnwanted(event.reason))
			this.#moment = "replacing";
	}

	print(line: Line | string): void {
		this.#shown.print(line);
		this.#record(typeof line === "string" ? plain(line) : line);
	}

	progress(progress: Progress): void {
		this.#shown.progress(progress);
		this.#board.progress = progress;
		// Some answers later, when the replacement has a pid.
		if (this.#moment !== "replacing" || progress.done % 100 > 0) return;
		this.#frame = this.#board.draw(Date.now(), COLUMNS, 24);
		this.#moment = "taken";
	}

	close(): void {
		this.#shown.close();
		this.#moment = "closed";
	}

	#record(line: Line): void {
		if (this.#moment === "closed") this.#report.push(line);
		else if (this.#moment !== "taken") this.#before.push(line);
	}

	/** Draws an SVG. */
	draw(): string {
		return drawSvg([
			[
				["faint", "$ "],
				["strong", "npx pnpm@12 demo"],
			],
			...this.#before,
			...this.#frame,
			[["faint", "─".repeat(8)]],
			[],
			...this.#report,
		]);
	}
}

const FONT = 14;
const ROW = 20;
/** The width of a character in the usual monospaced fonts. */
const CELL = 0.602 * FONT;
const MARGIN = 20;

const COLOUR: Readonly<Record<Tone, string>> = {
	plain: "#e6edf3",
	strong: "#ffffff",
	good: "#3fb950",
	busy: "#d29922",
	bad: "#f85149",
	faint: "#8b949e",
};

/**
 * Draws lines as a terminal shows them; each piece has its own place, so columns stay aligned in any font,
 * and in a viewer that drops spaces at the ends.
 */
function drawSvg(lines: readonly Line[]): string {
	const width = Math.ceil(
		2 * MARGIN + CELL * Math.max(...lines.map(widthOf), 0),
	);
	const height = 2 * MARGIN + ROW * lines.length;
	const texts = lines.flatMap((line, row) => {
		let column = 0;
		return line.flatMap(([tone, text]) => {
			const indent = text.length - text.trimStart().length;
			const x = (MARGIN + CELL * (column + indent)).toFixed(1);
			const y = MARGIN + ROW * row + FONT;
			column += text.length;
			if (text.trim() === "") return [];
			const weight = tone === "strong" ? ' font-weight="bold"' : "";
			return `<text x="${x}" y="${y}" fill="${COLOUR[tone]}"${weight}>${escapeXml(text.trim())}</text>`;
		});
	});
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT}" xml:space="preserve">`,
		"<title>The demo's live board while a killed worker is replaced, and its report</title>",
		`<rect width="100%" height="100%" rx="8" fill="#0d1117"/>`,
		...texts,
		"</svg>\n",
	].join("\n");
}

function escapeXml(text: string): string {
	return stripVTControlCharacters(text).replace(
		/[&<>]/g,
		(each) => `&#${each.charCodeAt(0)};`,
	);
}
