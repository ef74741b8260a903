import type { CallOptions, Connection } from "../adapter.ts";
import { failing } from "../callers-frames.ts";
import type { Worker } from "../worker/worker.ts";

/** An attempt, as its work sees it. */
export interface Attempted {
	/** Then what arrives is not the answer of the call: the worker is gone, and another may run the call now. */
	readonly isOver: boolean;
	readonly worker: Pick<Worker, "ref" | "takesCalls">;
}

/** What a call does on a connection, and where its answer goes. Settled once. */
export interface Work {
	readonly shape: "unary" | "stream" | "lease";
	/** Resolves to the answer when the worker is done with the call. An adapter may also throw at once, or answer with no promise. */
	run(
		connection: Connection,
		command: string,
		args: unknown,
		options: CallOptions,
		attempt: Attempted,
	): Promise<unknown>;
	/** Whether something was delivered already: then the call cannot be made again. */
	readonly begun: boolean;
	succeed(answer: unknown): void;
	fail(error: Error): void;
}

/** The work of a call with one answer. */
export class UnaryWork implements Work {
	readonly shape = "unary";
	readonly begun = false;
	/** What its caller waits for. */
	readonly answer: Promise<unknown>;
	readonly succeed: (answer: unknown) => void;

	constructor() {
		const { promise, resolve } = Promise.withResolvers<unknown>();
		this.answer = promise;
		this.succeed = resolve;
	}

	run(
		connection: Connection,
		command: string,
		args: unknown,
		options: CallOptions,
	): Promise<unknown> {
		return connection.execute(command, args, options);
	}

	fail(error: Error): void {
		// A promise that rejects by itself would end a program whose caller is gone: this one rejects when it is awaited.
		this.succeed(failing(error));
	}
}
