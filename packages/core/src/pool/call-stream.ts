import type { Call } from "./call.ts";
import type { ExecuteOptions } from "./call-options.ts";
import type { Session } from "./session-table.ts";
import { captureContext, StreamWork, type Work } from "./work.ts";

/** Whoever takes calls. */
export interface CallTaker {
	submit(
		command: string,
		args: unknown,
		options: ExecuteOptions,
		work: Work,
		session: Session | undefined,
	): Call;
	/** The consumer of a stream left before its end. */
	abandon(call: Call): void;
}

type StreamState =
	| { readonly kind: "fresh" }
	| { readonly kind: "running"; readonly call: Call }
	| { readonly kind: "closed" };

/**
 * The consumer's side of a stream: the call begins with the first `next()`, in the
 * context of the one who made the stream.
 */
export function callStream<Chunk>(
	taker: CallTaker,
	command: string,
	args: unknown,
	options: ExecuteOptions,
	session: Session | undefined,
): AsyncIterableIterator<Chunk> {
	const work = new StreamWork();
	const context = captureContext();
	let state: StreamState = { kind: "fresh" };
	return {
		async next(): Promise<IteratorResult<Chunk, undefined>> {
			if (state.kind === "closed") return { done: true, value: undefined };
			if (state.kind === "fresh") {
				// One that is refused is over, too: it is told once.
				state = { kind: "closed" };
				const call = context.runInAsyncScope(() =>
					taker.submit(command, args, options, work, session),
				);
				state = { kind: "running", call };
			}
			return (await work.next()) as IteratorResult<Chunk, undefined>;
		},
		async return(): Promise<IteratorResult<Chunk, undefined>> {
			const { call } = state.kind === "running" ? state : { call: undefined };
			state = { kind: "closed" };
			if (call !== undefined) taker.abandon(call);
			return { done: true, value: undefined };
		},
		[Symbol.asyncIterator](): AsyncIterableIterator<Chunk> {
			return this;
		},
	};
}
