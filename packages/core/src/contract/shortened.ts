/** A value as JSON can carry it, shortened so that it takes little time and room, whatever it is. Never throws. */
export function shortened(value: unknown): unknown {
	return new Shortened().of(value);
}

const DEPTH = 6;

class Shortened {
	#entriesLeft = 200;
	#charactersLeft = 2_000;

	of(value: unknown): unknown {
		try {
			return this.#of(value, DEPTH);
		} catch {
			// Reading it runs its own code.
			return "a value that cannot be shown";
		}
	}

	#of(value: unknown, depth: number): unknown {
		switch (typeof value) {
			case "string":
				return this.#text(value);
			case "boolean":
				return value;
			case "number":
				return Number.isFinite(value) ? value : String(value);
			case "undefined":
				return null;
			case "function":
				return "a function";
			case "object":
				break;
			default:
				return this.#text(String(value));
		}
		if (value === null) return null;
		if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
			return `<${value.byteLength} bytes>`;
		if (value instanceof Error) return this.#text(String(value));
		if (depth === 0) return "…";
		if ("toJSON" in value && typeof value.toJSON === "function")
			return this.#of(value.toJSON(), depth - 1);
		return Symbol.iterator in value
			? this.#items(value as Iterable<unknown>, depth - 1)
			: this.#fields(value, depth - 1);
	}

	#text(text: string): string {
		const shown = text.slice(0, this.#charactersLeft);
		this.#charactersLeft -= shown.length;
		return shown.length < text.length ? `${shown}…` : text;
	}

	#items(values: Iterable<unknown>, depth: number): readonly unknown[] {
		const items: unknown[] = [];
		for (const value of values) {
			if (!this.#hasRoom()) return [...items, "…"];
			items.push(this.#of(value, depth));
		}
		return items;
	}

	#fields(value: object, depth: number): object {
		const fields: [string, unknown][] = [];
		for (const name in value) {
			if (!Object.hasOwn(value, name)) continue;
			if (!this.#hasRoom()) return Object.fromEntries([...fields, ["…", "…"]]);
			const field = (value as Readonly<Record<string, unknown>>)[name];
			fields.push([this.#text(name), this.#of(field, depth)]);
		}
		return Object.fromEntries(fields);
	}

	#hasRoom(): boolean {
		return this.#entriesLeft-- > 0 && this.#charactersLeft > 0;
	}
}
