import { styleText } from "node:util";

/** Writes to standard output, with a line break at the end. */
export function write(text: string): void {
	process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

/** In colour on a terminal, unless NO_COLOR or --no-color is set. */
export function coloured(text: string, isGood: boolean): string {
	return styleText(isGood ? "green" : "red", text, { stream: process.stdout });
}
