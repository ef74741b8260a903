import { AsyncResource } from "node:async_hooks";
import type {
	CallProgress,
	Connection,
} from "../../src/contract/connection.ts";
import {
	CallAbortedError,
	ConnectionBrokenError,
	InputError,
	ToolError,
} from "../../src/contract/errors.ts";
import type { WorkerProcess } from "../../src/contract/launch.ts";

const ORDERED =
	"progress reports arrive in order and before the answer, and the newest one always arrives";
const UNTAKEN = "a host that ignores the first report still gets the answer";

export type Flaw = (
	connection: Connection,
	process: WorkerProcess,
) => Partial<Connection>;

/** An adapter with one flaw, and the cases of the contract that it breaks: none where it is no flaw. */
export const FLAWS: Readonly<
	Record<string, { readonly flaw: Flaw; readonly breaks: readonly string[] }>
> = {
	"forgets to settle after an abort": {
		flaw: (connection) => ({
			execute: (command, args, options) =>
				connection.execute(command, args, {
					...options,
					signal: new AbortController().signal,
				}),
		}),
		breaks: [
			"an aborted call settles as CallAbortedError and frees the worker",
			"a call that is aborted before it begins settles as CallAbortedError",
			"a ping is answered, also while calls run",
			"an aborted call that the program does not confirm settles as CallAbortedError with its worker unknown",
			"2 calls run at once, and each gets its own answer",
			"aborting one call does not affect the others",
		],
	},
	"lets bare errors through": {
		flaw: (connection) => ({
			execute: (command, args, options) =>
				connection.execute(command, args, options).catch((error: Error) => {
					throw error instanceof ToolError ? new Error(error.message) : error;
				}),
		}),
		breaks: [
			"a command that fails is a ToolError that names it, and the worker stays usable",
		],
	},
	"reads ahead without bound": {
		flaw: (connection) => ({
			async *stream(command, args, options) {
				const items: unknown[] = [];
				const source = connection
					.stream?.(command, args, options)
					[Symbol.asyncIterator]();
				let [arrived, over] = [Promise.withResolvers<void>(), false];
				const reading = (async () => {
					for (;;) {
						const step = await source?.next();
						if (step?.done !== false) return step?.value;
						items.push(step.value);
						arrived.resolve();
						await new Promise((resolve) => setImmediate(resolve));
						if (over) return source?.return?.();
					}
				})().finally(() => arrived.resolve());
				try {
					do {
						yield* items.splice(0);
						await Promise.race([arrived.promise, reading]);
						arrived = Promise.withResolvers();
					} while (items.length > 0);
					return await reading;
				} finally {
					over = true;
				}
			},
		}),
		breaks: ["a slow consumer limits the program to a bounded window"],
	},
	"cannot be disposed of twice": {
		flaw: (connection) => {
			let disposed = false;
			return {
				[Symbol.asyncDispose]: async () => {
					if (disposed) throw new Error("already disposed");
					disposed = true;
					await connection[Symbol.asyncDispose]();
				},
			};
		},
		breaks: ["dispose may be called again, and later calls reject"],
	},
	"hangs when the process is dead": {
		flaw: (connection, process) => {
			let dead = false;
			void process.exited.then(() => {
				dead = true;
			});
			return {
				execute: (command, args, options) =>
					dead
						? new Promise(() => undefined)
						: connection.execute(command, args, options),
			};
		},
		breaks: ["after the process has died, calls, streams and pings reject"],
	},
	"reports a broken conversation again and again": {
		flaw: (connection, process) => ({
			execute: (command, args, options) =>
				connection.execute(command, args, options).catch((error: Error) => {
					if (command === "breakConversation") process.broken(error);
					throw error;
				}),
		}),
		breaks: [
			"a broken conversation is reported to the pool exactly once, and running calls reject",
		],
	},
	"leaves with an error": {
		flaw: (connection) => ({
			leave: async () => {
				await connection.execute("exitBadly", undefined, {
					callId: "leave",
					signal: new AbortController().signal,
					timeoutMs: undefined,
					sessionId: undefined,
					input: undefined,
					context: new AsyncResource("test"),
					traceContext: {},
				});
			},
		}),
		breaks: [
			"leave ends the process with exit code 0",
			"a slow leave ends with exit code 0, too",
		],
	},
	"keeps the result of a stream": {
		flaw: (connection) => ({
			stream: async function* (command, args, options) {
				yield* connection.stream?.(command, args, options) ?? [];
			},
		}),
		breaks: ["the last step of a stream has its result"],
	},
	"lets calls wait until a process without output is gone": {
		flaw: (connection, process) => ({
			execute: (command, args, options) =>
				connection.execute(command, args, options).catch(async (error) => {
					if (command === "endOutput") await process.exited;
					throw error;
				}),
		}),
		breaks: [
			"when the output ends before the process, running and later calls reject without waiting for the process",
		],
	},
	"gives up an answer when the process exits": {
		flaw: (connection, process) => ({
			execute: async (command, args, options) => {
				const exit = process.exited.then(() => {
					throw gone();
				});
				const answer = connection
					.execute(command, args, options)
					.finally(() => command === "lastAnswer" && exit);
				exit.catch(() => {});
				return await answer;
			},
		}),
		breaks: ["an answer arrives even if the process exits right after it"],
	},
	"reports the end of the output while the worker leaves": {
		flaw: (connection, process) => ({
			leave: async (signal) => {
				process.broken(gone());
				await connection.leave?.(signal);
			},
		}),
		breaks: [],
	},
	"takes a stray line for an answer": {
		flaw: (connection) => ({
			execute: async (command, args, options) => {
				const answer = await connection.execute(command, args, options);
				return command === "strayLine" ? "stray" : answer;
			},
		}),
		breaks: [
			"a stray line in the output loses no answer, and the worker stays usable",
		],
	},
	"takes every cancel for confirmed": {
		flaw: (connection) => ({
			execute: (command, args, options) =>
				connection.execute(command, args, options).catch((error) => {
					if (!(error instanceof CallAbortedError)) throw error;
					const { code, ran, message } = error;
					throw new CallAbortedError({ code, ran, message });
				}),
		}),
		breaks: [
			"an aborted call that the program does not confirm settles as CallAbortedError with its worker unknown",
		],
	},
	"looks at arguments before it looks for the command": {
		flaw: (connection) => ({
			execute: async (command, args, options) => {
				if (!/hang|break/.test(command) && typeof args === "object")
					throw new InputError({
						code: "INVALID_ARGUMENTS",
						ran: "no",
						message: "one text or number",
					});
				return connection.execute(command, args, options);
			},
		}),
		breaks: [],
	},
	"reports progress after the answer": {
		flaw: (connection) => ({
			execute: async (command, args, options) => {
				const { onProgress } = options;
				if (onProgress === undefined)
					return connection.execute(command, args, options);
				const late: CallProgress[] = [];
				const answer = await connection.execute(command, args, {
					...options,
					onProgress: async (progress) => void late.push(progress),
				});
				setImmediate(() => late.map(onProgress));
				return answer;
			},
		}),
		breaks: [ORDERED, UNTAKEN],
	},
	"waits until the host takes each report of progress": {
		flaw: (connection) => ({
			execute: async (command, args, options) => {
				const taken: (Promise<void> | undefined)[] = [];
				const answer = await connection.execute(command, args, {
					...options,
					onProgress: async (progress) =>
						void taken.push(options.onProgress?.(progress)),
				});
				await Promise.all(taken);
				return answer;
			},
		}),
		breaks: [UNTAKEN],
	},
};

function gone(): ConnectionBrokenError {
	return new ConnectionBrokenError({ ran: "maybe", message: "gone" });
}
