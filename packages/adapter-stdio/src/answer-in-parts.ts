import { PassThrough } from "node:stream";
import type { CallOptions } from "@snakepit/core/adapter";

/** The output of a worker, which can be paused. */
export interface Pausable {
	pause(): void;
	resume(): void;
}

/**
 * Yields the parts of a result, and then the result. While the consumer waits, the program waits too, with all its
 * calls. If the consumer leaves, the signal that `ask` gets is aborted.
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
		// In an array, because a stream of objects cannot contain null.
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
		await answer.catch(() => {}); // The worker is free only now.
	}
}
