import { type ScriptedCall, untilAborted } from "./scripted-connection.ts";
import type { ScriptedWorker } from "./scripted-worker.ts";

// biome-ignore lint/suspicious/noExplicitAny: it stands for a command of any type.
type Given = any;

/** What the ready-made scripts are: each stands for a command of any type that it can answer. */
export type Scripts = {
	/** Answers with its arguments. */
	readonly echo: (call: ScriptedCall) => Promise<Given>;
	/** Answers with the incarnation that ran it. */
	readonly whoami: (call: ScriptedCall) => Promise<string>;
	/** Throws an error with its arguments as the message. */
	readonly fail: (call: ScriptedCall) => Promise<never>;
	/** Takes as many milliseconds of the machine's clock as its argument, unless aborted. */
	readonly work: (call: ScriptedCall) => Promise<Given>;
	/** Never answers; rejects when aborted. */
	readonly hang: (call: ScriptedCall) => Promise<never>;
	/** Never answers, whatever happens. */
	readonly hangIgnoringAbort: (call: ScriptedCall) => Promise<never>;
	/** Takes the whole process down. */
	readonly crash: (call: ScriptedCall) => Promise<never>;
	/** Breaks the conversation while the process runs on. */
	readonly breakConversation: (call: ScriptedCall) => Promise<never>;
	/** Streams the numbers from 0 to its argument minus 1. */
	readonly count: (call: ScriptedCall) => AsyncGenerator<number, Given>;
	/** A stream without a single item; ends when aborted. */
	readonly silent: (call: ScriptedCall) => AsyncGenerator<never, Given>;
	/** Streams back what it is given as input. */
	readonly relay: (call: ScriptedCall) => AsyncGenerator<Given, Given>;
};

/** Ready-made scripts for `scriptedAdapter`. */
export const scripts: Scripts = {
	echo: async ({ args }: ScriptedCall): Promise<unknown> => args,
	whoami: async ({ worker }: ScriptedCall): Promise<string> =>
		worker.slot.incarnation,
	fail: async ({ args }: ScriptedCall): Promise<never> => {
		throw new RangeError(typeof args === "string" ? args : "on purpose");
	},
	work: ({ args, worker, signal }: ScriptedCall): Promise<unknown> =>
		Promise.race([worker.process.sleep(Number(args)), untilAborted(signal)]),
	hang: ({ signal }: ScriptedCall): Promise<never> => untilAborted(signal),
	hangIgnoringAbort: (): Promise<never> => new Promise(() => undefined),
	crash: ({ worker }: ScriptedCall): Promise<never> => {
		worker.crash();
		return new Promise(() => undefined);
	},
	breakConversation: ({ worker }: ScriptedCall): Promise<never> => {
		worker.breakConversation();
		return new Promise(() => undefined);
	},
	count: async function* ({ args }: ScriptedCall): AsyncGenerator<number> {
		for (let item = 0; item < Number(args); item++) yield item;
	},
	silent: async function* ({ signal }: ScriptedCall): AsyncGenerator<never> {
		yield await untilAborted(signal);
	},
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
