import { styleText } from "node:util";
import {
	type Line,
	type Paint,
	paintLine,
	type Tone,
	unpainted,
} from "./line.ts";

const { stdout } = process;

/** Whether somebody looks at a terminal that can do more than print lines. */
export const isTerminal: boolean =
	stdout.isTTY && process.env["TERM"] !== "dumb";

/** How wide a line may be. */
export const columns: number = isTerminal
	? stdout.columns
	: Number.POSITIVE_INFINITY;

const STYLE: Readonly<
	Record<Exclude<Tone, "plain">, Parameters<typeof styleText>[0]>
> = {
	strong: "bold",
	good: "green",
	busy: "yellow",
	bad: "red",
	faint: "dim",
};

/** The look of text on standard output: none but in a terminal, and there without colours where NO_COLOR is set. */
export const paint: Paint = isTerminal
	? (tone, text) =>
			tone === "plain" ? text : styleText(STYLE[tone], text, { stream: stdout })
	: unpainted;

/** Shows one line, for good. */
export function show(line: Line): void {
	stdout.write(`${paintLine(line, paint)}\n`);
}
