import { PassThrough } from "node:stream";
import type { CallOptions } from "@snakepit/core/adapter";

/** What a worker writes, which can be made to wait. */
export interface Pausable {
	pause(): void;
	resume(): void;
}

/**
 * The parts of a result, and then the result. A consumer that waits makes the program wait, with all its calls; one that
 * leaves aborts the signal that `ask` gets.
 *
 * @param ask gets the function that takes each part; settles when the worker is done.
 */
export async function* answerInParts<Part, Result>(
	output: Pausable,
	call: Pick<CallOptions, "signal">,
	ask: (signal: AbortSignal, onPart: (part: Part) => void) => Promise<Result>,
): AsyncGenerator<Part, Result> {
	const closed = new AbortController();
	const parts = new PassThrough({ objectMode: true });
	parts.on("drain", () => output.resume());
	const answer = ask(
		AbortSignal.any([call.signal, closed.signal]),
		// Within an array, for a stream of objects has no null.
		(part) => {
			if (!parts.destroyed && !parts.write([part])) output.pause();
		},
	);
	answer.catch(() => {}).finally(() => parts.end());
	try {
		for await (const [part] of parts) yield part;
		return await answer;
	} finally {
		closed.abort();
		output.resume();
		await answer.catch(() => {}); // Only now is the worker free.
	}
}
