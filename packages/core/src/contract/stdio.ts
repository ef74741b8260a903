import { PassThrough, type Readable, type Writable } from "node:stream";
import type { CallOptions } from "./connection.ts";
import { InputError } from "./errors.ts";
import type { WorkerProcess } from "./launch.ts";

/** Standard input and output of a worker. @throws TypeError if its `launch` did not return `stdio: "adapter"`. */
export function stdioOf({
	stdin,
	stdout,
}: Pick<WorkerProcess, "stdin" | "stdout">): {
	readonly stdin: Writable;
	readonly stdout: Readable;
} {
	if (stdin === undefined || stdout === undefined)
		throw new TypeError("The process has no standard input and output.");
	return { stdin, stdout };
}

/** @throws InputError `NOT_OFFERED` for a call with an input stream. */
export function refuseInput({ input }: Pick<CallOptions, "input">): void {
	if (input === undefined) return;
	throw new InputError({
		code: "NOT_OFFERED",
		ran: "no",
		message: "This adapter has no input streams: send the items as arguments.",
	});
}

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
 * @param output is paused while too many parts wait; left out where the protocol cannot make a program wait.
 */
export async function* answerInParts<Part, Result>(
	call: Pick<CallOptions, "signal">,
	ask: (signal: AbortSignal, onPart: (part: Part) => void) => Promise<Result>,
	output?: Pausable,
): AsyncGenerator<Part, Result> {
	const closed = new AbortController();
	const parts = new PassThrough({ objectMode: true });
	parts.on("drain", () => output?.resume());
	const answer = ask(
		AbortSignal.any([call.signal, closed.signal]),
		// In an array, because a stream of objects cannot contain null.
		(part) => {
			if (!parts.destroyed && !parts.write([part])) output?.pause();
		},
	);
	answer.catch(() => {}).finally(() => parts.end());
	try {
		for await (const [part] of parts) yield part;
		return await answer;
	} finally {
		closed.abort();
		output?.resume();
		await answer.catch(() => {}); // The worker is free only now.
	}
}
