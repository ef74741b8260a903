import type { Readable } from "node:stream";

/** What `top` writes to. */
export interface Terminal {
	readonly isTTY?: boolean;
	readonly columns?: number;
	readonly rows?: number;
	write(text: string): unknown;
	on?(event: "resize", listener: () => void): unknown;
}

/** Where keys come from. */
export interface Keyboard extends Readable {
	readonly isTTY?: boolean;
	setRawMode?(isRaw: boolean): unknown;
}

/** A line of the screen. */
export interface ScreenLine {
	readonly text: string;
	/** The number of its colour in a terminal; `undefined` for the usual one. */
	readonly colour?: number | undefined;
}

/** What a key asks for. */
export type Key =
	| "up"
	| "down"
	| "page_up"
	| "page_down"
	| "home"
	| "end"
	| "pool"
	| "quit"
	| "suspend";

const KEYS: Readonly<Record<string, Key>> = {
	"\u001b[A": "up",
	"\u001bOA": "up",
	k: "up",
	"\u001b[B": "down",
	"\u001bOB": "down",
	j: "down",
	"\u001b[5~": "page_up",
	b: "page_up",
	"\u001b[6~": "page_down",
	" ": "page_down",
	"\u001b[H": "home",
	"\u001bOH": "home",
	"\u001b[1~": "home",
	g: "home",
	"\u001b[F": "end",
	"\u001bOF": "end",
	"\u001b[4~": "end",
	G: "end",
	p: "pool",
	"\t": "pool",
	q: "quit",
	"\u0003": "quit",
	"\u001a": "suspend",
};
/** A key: an escape sequence, or one character. */
const KEY = new RegExp(
	String.raw`${"\u001b"}(?:\[[\d;]*[A-Za-z~]|O[A-Z])|[\s\S]`,
	"g",
);

/** The keys in what a terminal sent; what is no key of ours is left out. */
export function keysIn(text: string): readonly Key[] {
	return (text.match(KEY) ?? []).flatMap((each) => KEYS[each] ?? []);
}

const ENTER = "\u001b[?1049h\u001b[?25l\u001b[H\u001b[2J";
const LEAVE = "\u001b[?25h\u001b[?1049l";

/**
 * The second screen of a terminal: what is drawn there does not fill what can be scrolled back. Only lines that have
 * changed are written.
 */
export class Screen {
	readonly #terminal: Terminal;
	readonly #keyboard: Keyboard | undefined;
	#shown: readonly string[] = [];
	#state: "closed" | "open" | "suspended" = "closed";

	constructor(terminal: Terminal, keyboard: Keyboard | undefined) {
		this.#terminal = terminal;
		this.#keyboard = keyboard?.isTTY === true ? keyboard : undefined;
	}

	/** A new terminal may not have a size yet. */
	get columns(): number {
		return this.#terminal.columns || 80;
	}
	get rows(): number {
		return this.#terminal.rows || 24;
	}
	get hasKeys(): boolean {
		return this.#keyboard !== undefined;
	}

	/** @param redraw is called when the size of the terminal has changed. */
	open(onKey: (key: Key) => void, redraw: () => void): void {
		this.#enter();
		this.#terminal.on?.("resize", () => {
			if (this.#state !== "open") return;
			this.#shown = [];
			this.#terminal.write("\u001b[2J");
			redraw();
		});
		this.#keyboard?.on("data", (data) => {
			for (const key of keysIn(String(data))) {
				if (key === "suspend") this.#suspend(redraw);
				else onKey(key);
			}
		});
		process.on("exit", this.close);
	}

	/** Shows these lines, as many as there is room for. */
	draw(lines: readonly ScreenLine[]): void {
		if (this.#state !== "open") return;
		const drawn = lines.slice(0, this.rows).map(drawnLine);
		const changes = drawn.flatMap((line, index) =>
			line === this.#shown[index]
				? []
				: [`\u001b[${index + 1};1H${line}\u001b[K`],
		);
		if (drawn.length < this.#shown.length)
			changes.push(`\u001b[${drawn.length + 1};1H\u001b[J`);
		this.#shown = drawn;
		if (changes.length > 0) this.#terminal.write(changes.join(""));
	}

	/** Shows what the terminal showed before. */
	readonly close = (): void => {
		if (this.#state === "closed") return;
		if (this.#state === "open") this.#leave();
		this.#state = "closed";
		this.#keyboard?.pause();
		process.off("exit", this.close);
	};

	#enter(): void {
		this.#state = "open";
		this.#shown = [];
		this.#terminal.write(ENTER);
		this.#keyboard?.setRawMode?.(true);
		this.#keyboard?.resume();
	}

	#leave(): void {
		this.#keyboard?.setRawMode?.(false);
		this.#terminal.write(LEAVE);
	}

	/** A terminal in raw mode sends no signal for Ctrl-Z. */
	#suspend(redraw: () => void): void {
		this.#state = "suspended";
		// Before the shell has its screen back: SIGCONT may come as soon as that shows.
		process.once("SIGCONT", () => {
			if (this.#state !== "suspended") return;
			this.#enter();
			redraw();
		});
		this.#leave();
		process.kill(process.pid, "SIGTSTP");
	}
}

function drawnLine({ text, colour }: ScreenLine): string {
	return colour === undefined ? text : `\u001b[${colour}m${text}\u001b[0m`;
}
