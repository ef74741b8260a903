/** What a terminal shows of what was written to it, as far as `top` needs one: a grid, and a second one. */
export class ShownTerminal {
	readonly isTTY = true;
	readonly rows: number;
	readonly columns: number;
	/** Lines that have left the first screen at its top. */
	readonly scrolledOut: string[] = [];
	/** Everything since a test has emptied it. */
	written = "";
	#screens: { usual: string[]; second: string[] };
	#current: "usual" | "second" = "usual";
	#row = 0;
	#column = 0;
	/** Where the cursor was on the first screen. */
	#kept: readonly [row: number, column: number] = [0, 0];

	constructor(rows: number, columns: number) {
		this.rows = rows;
		this.columns = columns;
		const empty = (): string[] => Array.from({ length: rows }, () => "");
		this.#screens = { usual: empty(), second: empty() };
	}

	write(text: string): void {
		this.written += text;
		// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is controlled by them.
		const parts = /\u001b\[([?\d;]*)([A-Za-z])|[\s\S]/g;
		for (const [part, values = "", letter] of text.matchAll(parts))
			if (letter === undefined) this.#put(part);
			else this.#control(values, letter);
	}

	lines(): readonly string[] {
		return this.#lines.map((line) => line.trimEnd());
	}

	get #lines(): string[] {
		return this.#screens[this.#current];
	}

	#put(character: string): void {
		if (character === "\r") this.#column = 0;
		else if (character === "\n") this.#feed();
		else {
			const line = this.#line().padEnd(this.#column);
			this.#lines[this.#row] =
				line.slice(0, this.#column) + character + line.slice(this.#column + 1);
			this.#column++;
		}
	}

	#feed(): void {
		this.#row++;
		if (this.#row < this.rows) return;
		this.#row = this.rows - 1;
		const first = this.#lines.shift() ?? "";
		this.#lines.push("");
		this.scrolledOut.push(first);
	}

	#line(): string {
		return this.#lines[this.#row] ?? "";
	}

	#control(values: string, letter: string): void {
		switch (letter + values) {
			case "h?1049":
				this.#current = "second";
				this.#kept = [this.#row, this.#column];
				return;
			case "l?1049":
				this.#current = "usual";
				[this.#row, this.#column] = this.#kept;
				return;
			case "J2":
				this.#lines.fill("");
				return;
		}
		const [row = 1, column = 1] = values.split(";").map(Number);
		if (letter === "H") {
			this.#row = (row || 1) - 1;
			this.#column = (column || 1) - 1;
		} else if (letter === "K")
			this.#lines[this.#row] = this.#line().slice(0, this.#column);
		else if (letter === "J") {
			this.#lines[this.#row] = this.#line().slice(0, this.#column);
			this.#lines.fill("", this.#row + 1);
		}
	}
}
