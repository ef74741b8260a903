import type { ExecuteOptions } from "./call-options.ts";
import type { CallTaker } from "./call-stream.ts";
import type { Session } from "./session-table.ts";
import { UnaryWork } from "./work.ts";

/**
 * Makes a call with one answer. Not an `async` function: one that waits keeps half
 * a kilobyte for each call, a third of all that a waiting call holds.
 */
export function callAnswer<Result>(
	taker: CallTaker,
	command: string,
	args: unknown,
	options: ExecuteOptions,
	session: Session | undefined,
): Promise<Result> {
	const work = new UnaryWork();
	try {
		taker.submit(command, args, options, work, session);
	} catch (error) {
		return Promise.reject(error);
	}
	return work.promise as Promise<Result>;
}
