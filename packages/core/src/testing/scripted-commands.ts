import type { ScriptedCall, ScriptedCommand } from "./scripted-connection.ts";
import type { ScriptedWorker } from "./scripted-worker.ts";

export type ScriptName =
	| "echo"
	| "whoami"
	| "fail"
	| "work"
	| "hang"
	| "hangIgnoringAbort"
	| "crash"
	| "breakConversation"
	| "count"
	| "silent"
	| "relay";

/** Ready-made scripts for `scriptedAdapter`, each named by its one habit. */
export const scripts: Readonly<Record<ScriptName, ScriptedCommand>> = {
	/** Answers with its arguments. */
	echo: async ({ args }: ScriptedCall): Promise<unknown> => args,
	/** Answers with the incarnation that ran it. */
	whoami: async ({ worker }: ScriptedCall): Promise<string> =>
		worker.slot.incarnation,
	/** Throws an error with its arguments as the message. */
	fail: async ({ args }: ScriptedCall): Promise<never> => {
		throw new RangeError(typeof args === "string" ? args : "on purpose");
	},
	/** Takes as many milliseconds of the machine's clock as its argument, unless aborted. */
	work: ({ args, worker, signal }: ScriptedCall): Promise<unknown> =>
		Promise.race([worker.process.sleep(Number(args)), untilAborted(signal)]),
	/** Never answers; rejects when aborted. */
	hang: ({ signal }: ScriptedCall): Promise<never> => untilAborted(signal),
	/** Never answers, whatever happens. */
	hangIgnoringAbort: (): Promise<never> => new Promise(() => undefined),
	/** Takes the whole process down. */
	crash: ({ worker }: ScriptedCall): Promise<never> => {
		worker.crash();
		return new Promise(() => undefined);
	},
	/** Breaks the conversation while the process runs on. */
	breakConversation: ({ worker }: ScriptedCall): Promise<never> => {
		worker.breakConversation();
		return new Promise(() => undefined);
	},
	/** Streams the numbers from 0 to its argument minus 1. */
	count: async function* ({ args }: ScriptedCall): AsyncGenerator<number> {
		for (let item = 0; item < Number(args); item++) yield item;
	},
	/** A stream without a single item; ends when aborted. */
	silent: async function* ({ signal }: ScriptedCall): AsyncGenerator<never> {
		yield await untilAborted(signal);
	},
	/** Streams back what it is given as input. */
	relay: async function* ({ input }: ScriptedCall): AsyncGenerator<unknown> {
		yield* input ?? [];
	},
};

/** For `connect`: never gets there. */
export function neverConnects(): Promise<never> {
	return new Promise(() => undefined);
}

/** For `connect`: fails with this message. */
export function connectFails(message = "nobody answers"): () => Promise<never> {
	return async () => {
		throw new Error(message);
	};
}

/** For `ping`: never answers. */
export function neverAnswers(): Promise<never> {
	return new Promise(() => undefined);
}

/** For `leave`: does not leave. */
export function staysPut(_worker: ScriptedWorker): Promise<never> {
	return new Promise(() => undefined);
}

function untilAborted(signal: AbortSignal): Promise<never> {
	return new Promise((_resolve, reject) => {
		if (signal.aborted) reject(signal.reason);
		signal.addEventListener("abort", () => reject(signal.reason), {
			once: true,
		});
	});
}
