import type { Adapter } from "../contract/adapter.ts";
import type {
	CallOptions,
	Connection,
	PingReply,
} from "../contract/connection.ts";
import type { InputErrorCode } from "../contract/error-codes.ts";
import {
	CallAbortedError,
	InputError,
	SnakepitError,
	ToolError,
} from "../contract/errors.ts";
import type {
	LaunchSpec,
	WorkerProcess,
	WorkerSlot,
} from "../contract/launch.ts";
import { asError } from "../contract/thrown.ts";
import { abortable } from "../deadline.ts";
import type {
	ArgsOf,
	CommandOf,
	ResultOf,
	ToolMap,
	UntypedTools,
} from "../pool/tools.ts";
import type { FakeProcess, FakeProgram } from "./fake-process.ts";
import {
	type ScriptedPrefetch,
	ScriptedQueue,
	ScriptedWorker,
} from "./scripted-worker.ts";

/** What a scripted adapter does; whatever is left out works immediately. */
export interface ScriptedAdapterOptions<Tools extends ToolMap = UntypedTools> {
	/** Default `scripted`. */
	readonly name?: string | undefined;
	readonly debugged?: boolean | undefined;
	/** By name. A function or async function answers `execute`, an async generator `stream`. */
	readonly commands?: ScriptedCommands<Tools> | undefined;
	readonly prepare?: ((signal: AbortSignal) => Promise<void>) | undefined;
	/** What the program does before it is ready; `attempt` counts the starts of this adapter from 1. */
	readonly boot?:
		| ((process: FakeProcess, attempt: number) => Promise<void> | void)
		| undefined;
	/** What connecting does beside connecting: take time, fail, never end. */
	readonly connect?:
		| ((worker: ScriptedWorker, signal: AbortSignal) => Promise<void> | void)
		| undefined;
	/** `false`: no ping is offered. */
	readonly ping?:
		| ((
				worker: ScriptedWorker,
				signal: AbortSignal,
		  ) => Promise<PingReply> | PingReply)
		| false
		| undefined;
	/** What the worker does when it is asked to leave; exits with code 0 by default. `false`: not offered. */
	readonly leave?:
		| ((worker: ScriptedWorker, signal: AbortSignal) => Promise<void> | void)
		| false
		| undefined;
	/** What `pool.use` gives to its tasks; not offered by default. */
	readonly client?: ((worker: ScriptedWorker) => unknown) | undefined;
	/** Present: prefetches calls. */
	readonly prefetch?: ScriptedPrefetch | undefined;
	/** `false`: no streams are offered. */
	readonly streams?: boolean | undefined;
	/** Present: the program uses the control channel, gets this payload and answers with `{ scripted: true }`. */
	readonly launchPayload?: unknown;
	/** Further fields of the launch. */
	readonly launch?:
		| Partial<LaunchSpec>
		| ((slot: WorkerSlot) => Partial<LaunchSpec>)
		| undefined;
}

/** An adapter whose workers are scripts in this program; for `FakeProcessHost`. */
export interface ScriptedAdapter extends Adapter {
	/** Install {@link program} in the host under this name. */
	readonly executable: string;
	readonly program: FakeProgram;
	/** Every worker that was connected, in order. */
	readonly workers: readonly ScriptedWorker[];
	/** The connected workers that live, in order. */
	living(): readonly ScriptedWorker[];
}

/** Makes an adapter that converses with fake processes. */
export function scriptedAdapter(
	options: ScriptedAdapterOptions = {},
): ScriptedAdapter {
	const name = options.name ?? "scripted";
	const executable = `${name}-program`;
	const speaksControl = options.launchPayload !== undefined;
	const processes = new Map<
		number,
		{ readonly process: FakeProcess; readonly number: number }
	>();
	const workers: ScriptedWorker[] = [];
	let starts = 0;

	const program: FakeProgram = async (process) => {
		const number = ++starts;
		processes.set(process.pid, { process, number });
		void process.exited.then(() => processes.delete(process.pid));
		if (speaksControl) await startAsWorker(process);
		await options.boot?.(process, number);
		if (speaksControl) writeReady(process, { scripted: true });
		await process.idle();
	};

	const connect = async (
		worker: WorkerProcess,
		signal: AbortSignal,
	): Promise<Connection> => {
		await Promise.resolve(); // The program's first act may be one microtask away.
		const started = processes.get(worker.pid);
		if (!started)
			throw new Error(
				`The fake process ${worker.pid} is not running ${executable}.`,
			);
		const scripted = new ScriptedWorker(
			worker,
			started.process,
			started.number,
		);
		signal.throwIfAborted();
		const connected = options.connect?.(scripted, signal);
		await abortable(Promise.resolve(connected), signal);
		workers.push(scripted);
		return scriptedConnection(scripted, options);
	};

	return {
		name,
		executable,
		program,
		workers,
		debugged: options.debugged,
		living: () => workers.filter((worker) => worker.process.alive),
		...(options.prepare && { prepare: options.prepare }),
		launch: (slot) => ({
			executable,
			args: ["--run-id", slot.runId],
			...(speaksControl && { launchPayload: options.launchPayload }),
			...(typeof options.launch === "function"
				? options.launch(slot)
				: options.launch),
		}),
		connect,
	};
}

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
function scriptedConnection(
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
function untilAborted(signal: AbortSignal): Promise<never> {
	return abortable(new Promise<never>(() => {}), signal);
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
	return (
		typeof value === "object" && value !== null && Symbol.asyncIterator in value
	);
}

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

/** What the host writes on the control channel of a worker that uses it; see docs/bridge-protocol.md. */
export interface FakeLaunchMessage {
	readonly snakepit: number;
	readonly runId: string;
	readonly workerId: string;
	readonly incarnation: string;
	readonly lifeline: string;
	readonly directory: string;
	readonly token: string;
	readonly payload: unknown;
}

/**
 * Reads the launch message as a worker does: one line of JSON on descriptor 3.
 *
 * @throws Error when the channel is missing or ends before the line does.
 */
export async function readLaunchMessage(
	process: FakeProcess,
): Promise<FakeLaunchMessage> {
	if (!process.control)
		throw new Error("This program was started without a control channel.");
	let text = "";
	for await (const chunk of process.control.iterator({
		destroyOnReturn: false,
	})) {
		text += String(chunk);
		const end = text.indexOf("\n");
		if (end >= 0) return JSON.parse(text.slice(0, end)) as FakeLaunchMessage;
	}
	throw new Error(
		"The control channel ended before the launch message: the host is dead.",
	);
}

/** Writes the ready line with what the program reports about itself. */
export function writeReady(process: FakeProcess, ready: unknown): void {
	process.control?.write(`${JSON.stringify({ ready })}\n`);
}

/** Writes the line that reports why the program cannot serve. It should exit with status 70 then. */
export function writeFailed(
	process: FakeProcess,
	failed: {
		readonly code: string;
		readonly message: string;
		readonly detail?: string;
	},
): void {
	process.control?.write(`${JSON.stringify({ failed })}\n`);
}

/**
 * Does what a well-behaved worker does first: reads the launch message, takes
 * hold of the lifeline twice. Returns the message.
 */
export async function startAsWorker(
	process: FakeProcess,
): Promise<FakeLaunchMessage> {
	const message = await readLaunchMessage(process);
	process.holdLifeline(message.lifeline);
	process.holdLifeline(message.lifeline);
	return message;
}
