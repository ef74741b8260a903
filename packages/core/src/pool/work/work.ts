import type { CallOptions, Connection } from "../../adapter.ts";
import { failing } from "../../callers-frames.ts";
import type { Worker } from "../../worker/worker.ts";

/** An attempt, as its work sees it. */
export interface Attempted {
	/** Then what arrives is not the answer of the call: the worker is gone, and another may run the call now. */
	readonly isOver: boolean;
	readonly worker: Pick<Worker, "ref" | "isEnding">;
}

/** Where the answer of a call goes. Settled once. */
interface Answered {
	/** Whether something was delivered already: then the call cannot be made again. */
	readonly begun: boolean;
	succeed(answer: unknown): void;
	fail(error: Error): void;
}

/** What a call does on a connection that is more than `execute`. */
export interface LongWork extends Answered {
	readonly shape: "stream" | "lease";
	/** Resolves to the answer when the worker is done with the call. An adapter may also throw at once, or answer with no promise. */
	run(
		connection: Connection,
		command: string,
		args: unknown,
		options: CallOptions,
		attempt: Attempted,
	): Promise<unknown>;
}

/** What a call does on a connection. */
export type Work = UnaryWork | LongWork;

/** The work of a call with one answer: `execute` of the connection. */
export class UnaryWork implements Answered {
	readonly shape: "unary" = "unary";
	readonly begun = false;
	/** What its caller waits for. */
	readonly answer: Promise<unknown>;
	readonly succeed: (answer: unknown) => void;

	constructor() {
		const { promise, resolve } = Promise.withResolvers<unknown>();
		this.answer = promise;
		this.succeed = resolve;
	}

	fail(error: Error): void {
		// A promise that rejects by itself would end a program whose caller is gone: this one rejects when it is awaited.
		this.succeed(failing(error));
	}
}
