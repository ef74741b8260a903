import type { CallOptions, Connection } from "../contract/connection.ts";
import type { InputErrorCode } from "../contract/error-codes.ts";
import {
	CallAbortedError,
	InputError,
	SnakepitError,
	ToolError,
} from "../contract/errors.ts";
import { asError } from "../contract/thrown.ts";
import type { ArgsOf, CommandOf, ResultOf, ToolMap } from "../pool/tools.ts";
import type { ScriptedAdapterOptions } from "./scripted-adapter.ts";
import { ScriptedQueue } from "./scripted-queue.ts";
import type { ScriptedWorker } from "./scripted-worker.ts";

/** One call as its script sees it. */
export interface ScriptedCall<Args = unknown> extends CallOptions {
	readonly command: string;
	readonly args: Args;
	readonly worker: ScriptedWorker;
}

/** A command as a script: a value, a promise, or an async iterable for a stream. */
export type ScriptedCommand = (call: ScriptedCall) => unknown;

/** Scripts by the name of their command: each takes what its tool takes, and answers what its tool answers. */
export type ScriptedCommands<Tools extends ToolMap> = {
	readonly [Command in CommandOf<Tools>]?:
		| ScriptedTool<ArgsOf<Tools, Command>, ResultOf<Tools, Command>>
		| undefined;
};

type ScriptedTool<Args, Result> = (
	call: ScriptedCall<Args>,
) => Result | PromiseLike<Result>;

/** The conversation with one scripted worker. */
export function scriptedConnection(
	worker: ScriptedWorker,
	options: ScriptedAdapterOptions,
): Connection {
	const begin = (
		command: string,
		args: unknown,
		call: CallOptions,
	): unknown => {
		call.signal.throwIfAborted();
		const commands = options.commands ?? {};
		const script = Object.hasOwn(commands, command)
			? commands[command]
			: undefined;
		if (!script)
			throw refused(
				"TOOL_NOT_FOUND",
				`has no command ${command}; it has ${Object.keys(commands).join(", ")}`,
			);
		return script({ ...call, command, args, worker });
	};
	const refused = (code: InputErrorCode, what: string): InputError =>
		new InputError({
			code,
			ran: "no",
			message: `The scripted worker ${worker.slot.workerId} ${what}.`,
		});

	/** Counts the call, and translates whatever the script throws. */
	const guarded = async <Value>(
		call: CallOptions,
		run: () => Promise<Value>,
	): Promise<Value> => {
		try {
			return await worker.whileConnected(run);
		} catch (error) {
			throw translate(error, call.signal);
		}
	};
	const occupy = (): (() => void) => {
		worker.callsRunning++;
		worker.mostCallsRunning = Math.max(
			worker.mostCallsRunning,
			worker.callsRunning,
		);
		return () => void worker.callsRunning--;
	};

	const queue =
		options.prefetch === undefined || worker.slot.callsPerWorker > 1
			? undefined
			: new ScriptedQueue(worker, options.prefetch);

	function execute(
		command: string,
		args: unknown,
		call: CallOptions,
	): Promise<unknown> {
		const run = () => executeNow(command, args, call);
		return queue === undefined ? run() : queue.run(call, run);
	}

	async function executeNow(
		command: string,
		args: unknown,
		call: CallOptions,
	): Promise<unknown> {
		const release = occupy();
		try {
			return await guarded(call, async () => {
				const result = await begin(command, args, call);
				if (isAsyncIterable(result))
					throw refused(
						"WRONG_SHAPE",
						`answers ${command} with a stream: call stream()`,
					);
				return result;
			});
		} finally {
			release();
		}
	}

	async function* stream(
		command: string,
		args: unknown,
		call: CallOptions,
	): AsyncGenerator<unknown> {
		const release = occupy();
		let iterator: AsyncIterator<unknown> | undefined;
		try {
			const source = await guarded(call, async () =>
				begin(command, args, call),
			);
			if (!isAsyncIterable(source))
				throw refused(
					"WRONG_SHAPE",
					`answers ${command} with one value: call execute()`,
				);
			const started = source[Symbol.asyncIterator]();
			iterator = started;
			while (true) {
				const item = await guarded(call, () => started.next());
				if (call.signal.aborted) throw aborted(call.signal);
				if (item.done) return item.value;
				yield item.value;
			}
		} finally {
			if (!worker.broken) await iterator?.return?.();
			release();
		}
	}

	const { ping, leave } = options;
	return {
		execute,
		client: options.client?.(worker),
		...(queue !== undefined && { prefetch: queue }),
		...(options.streams !== false && { stream }),
		...(ping !== false && {
			ping: (signal: AbortSignal) =>
				worker.whileConnected(() =>
					Promise.race([
						ping ? ping(worker, signal) : { callsRunning: worker.callsRunning },
						untilAborted(signal),
					]),
				),
		}),
		endSession: (sessionId) => void worker.sessions.delete(sessionId),
		...(leave !== false && {
			leave: async (signal: AbortSignal) => {
				if (leave) await leave(worker, signal);
				else worker.process.exit(0);
			},
		}),
		[Symbol.asyncDispose]: async () => worker.hangUp(),
	};
}

function translate(error: unknown, signal: AbortSignal): unknown {
	if (error instanceof SnakepitError) return error;
	if (signal.aborted) return aborted(signal);
	const { name, message, stack } = asError(error);
	return new ToolError({
		ran: "maybe",
		message: `The script failed: ${name}: ${message}`,
		cause: error,
		remote: { type: name, message, traceback: stack },
	});
}

function aborted(signal: AbortSignal): CallAbortedError {
	return new CallAbortedError({
		code: "CALL_ABORTED",
		ran: "maybe",
		message: "The call was aborted.",
		cause: signal.reason,
	});
}

/** Rejects with the reason when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<never> {
	return new Promise((_resolve, reject) => {
		if (signal.aborted) reject(signal.reason);
		signal.addEventListener("abort", () => reject(signal.reason), {
			once: true,
		});
	});
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
	return (
		typeof value === "object" && value !== null && Symbol.asyncIterator in value
	);
}
