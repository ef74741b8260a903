import { Readable } from "node:stream";
import type { Clock } from "../../src/contract/clock.ts";
import { type OutputLine, readLines } from "../../src/process/output.ts";

/** Has no time but the turns of the event loop. */
export const turns: Pick<Clock, "after"> = {
	after: (ms, action) => {
		const timer = ms === 0 ? setImmediate(action) : undefined;
		return { cancel: () => clearImmediate(timer) };
	},
};

/** The lines that are reported for a stream that brings these chunks and ends. */
export function linesOf(
	chunks: readonly (string | Uint8Array)[],
	maxLineBytes = 100,
): Promise<readonly OutputLine[]> {
	const lines: OutputLine[] = [];
	return new Promise((resolve) =>
		readLines(
			Readable.from(chunks.map((chunk) => Buffer.from(chunk))),
			maxLineBytes,
			(line) => lines.push(line),
			() => resolve(lines),
			turns,
		),
	);
}

export const whole = (...texts: string[]): OutputLine[] =>
	texts.map((text) => ({ text, cut: false }));
