import type { WorkerProcess } from "@snakepit/core/adapter";
import type { PrintedLine } from "./options.ts";

/**
 * Waits for a line, on whichever output the program prints it.
 *
 * @throws Error when both end before; the signal's reason when it aborts.
 */
export async function printed(
	process: Pick<WorkerProcess, "line">,
	{ fromLine }: PrintedLine,
	signal: AbortSignal,
): Promise<RegExpExecArray> {
	const found = new AbortController();
	const either = AbortSignal.any([signal, found.signal]);
	try {
		return await Promise.any([
			process.line(fromLine, "stdout", either),
			process.line(fromLine, "stderr", either),
		]);
	} catch (error) {
		signal.throwIfAborted();
		throw (error as AggregateError).errors[0];
	} finally {
		found.abort();
	}
}
