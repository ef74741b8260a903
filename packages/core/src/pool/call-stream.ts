import type { Call } from "./call.ts";
import type { ExecuteOptions } from "./call-options.ts";
import type { Session } from "./session-table.ts";
import { captureContext, StreamWork, type Work } from "./work.ts";

/** What a stream needs of its pool. */
export interface StreamPool {
	submit(
		command: string,
		args: unknown,
		options: ExecuteOptions,
		work: Work,
		session: Session | undefined,
	): Call;
	abandon(call: Call): void;
}

type StreamState =
	| { readonly kind: "fresh" }
	| { readonly kind: "running"; readonly call: Call }
	| { readonly kind: "closed" };

/** The consumer's side of a stream: the call begins with the first `next()`, in the context of the one who made the stream. */
export function callStream(
	pool: StreamPool,
	command: string,
	args: unknown,
	options: ExecuteOptions,
	session: Session | undefined,
): AsyncIterableIterator<unknown> {
	const work = new StreamWork();
	const inContext = captureContext();
	let state: StreamState = { kind: "fresh" };
	return {
		async next(): Promise<IteratorResult<unknown, undefined>> {
			if (state.kind === "fresh")
				state = {
					kind: "running",
					call: inContext(() =>
						pool.submit(command, args, options, work, session),
					),
				};
			return await work.next();
		},
		async return(): Promise<IteratorResult<unknown, undefined>> {
			if (state.kind === "running") pool.abandon(state.call);
			// One that never began must not begin now.
			else work.succeed();
			state = { kind: "closed" };
			return { done: true, value: undefined };
		},
		[Symbol.asyncIterator](): AsyncIterableIterator<unknown> {
			return this;
		},
	};
}
