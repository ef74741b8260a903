import { styleText } from "node:util";

/** Writes to standard output, with a line break at the end. */
export function write(text: string): void {
	process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

/** In colour on a terminal, unless NO_COLOR or --no-color is set. */
export function coloured(text: string, isGood: boolean): string {
	return styleText(isGood ? "green" : "red", text, { stream: process.stdout });
}

const UNITS: readonly (readonly [string, number])[] = [
	["d", 86_400_000],
	["h", 3_600_000],
	["m", 60_000],
	["s", 1_000],
];

/** A length of time in its largest unit, rounded down: `3h`. */
export function duration(ms: number): string {
	const [unit, size] = UNITS.find(([, each]) => ms >= each) ?? ["ms", 1];
	return `${Math.floor(ms / size)}${unit}`;
}

/** A moment, as people of this machine write it down. */
export function moment(wallMs: number): string {
	const date = new Date(wallMs - new Date(wallMs).getTimezoneOffset() * 60_000);
	return date.toISOString().slice(0, 19).replace("T", " ");
}
