import { AsyncResource } from "node:async_hooks";
import type { Adapter } from "../contract/adapter.ts";
import type {
	CallOptions,
	CallProgress,
	Connection,
} from "../contract/connection.ts";
import type { WorkerProcess } from "../contract/launch.ts";
import {
	callCases,
	progressCases,
	streamCases,
} from "./adapter-contract-calls.ts";
import { endingCases } from "./adapter-contract-endings.ts";
import { type ContractCase, within } from "./contract-case.ts";

/** A command of the adapter under test. */
export interface ContractCommand {
	readonly command: string;
	readonly args: unknown;
}

/** Calls the worker under test. */
export interface ContractCaller {
	execute(command: string, args?: unknown): Promise<unknown>;
}

/** What the adapter's program can do for the contract. What is left out is not tested. */
export interface ContractCommands {
	/** Answers with `result`. */
	readonly echo: ContractCommand & { readonly result: unknown };
	/** Runs until it is aborted; then finishes by itself. */
	readonly hang?: ContractCommand | undefined;
	/** Fails by itself: a `ToolError`. */
	readonly fail?: ContractCommand | undefined;
	/** Streams these items, three or more, and ends. */
	readonly count?: ContractCommand & {
		readonly items: readonly unknown[];
		/** What it returns after the last item; left out by an adapter whose streams have no result. */
		readonly result?: unknown;
	};
	/** Streams as fast as it is read, without end. */
	readonly endless?:
		| (ContractCommand & {
				/** Asks the program how many items it has produced, when the stream is closed. */
				produced(worker: ContractCaller): Promise<number>;
				/** How many items may be under way between the program and its reader. */
				readonly window: number;
		  })
		| undefined;
	/** A stream that yields nothing until it is aborted. */
	readonly silent?: ContractCommand | undefined;
	/** Reports its progress, and then answers with `result`: of an adapter whose programs can report it. */
	readonly report?:
		| (ContractCommand & {
				/** What it reports, in this order: two or more. */
				readonly reports: readonly CallProgress[];
				readonly result: unknown;
		  })
		| undefined;
	/** Runs on after an abort, and nothing says when it is done: of an adapter whose protocol does not confirm a cancel. */
	readonly unconfirmed?: ContractCommand | undefined;
	/** Writes a line that is not of the protocol, and then answers with `result`: of an adapter that does not mind. */
	readonly strayLine?:
		| (ContractCommand & { readonly result: unknown })
		| undefined;
	/** Ends the program's output without an answer, and runs on. */
	readonly endOutput?: ContractCommand | undefined;
	/** Answers with `result`, and exits at once. Best with more than a pipe holds (64 KiB). */
	readonly lastAnswer?:
		| (ContractCommand & { readonly result: unknown })
		| undefined;
	/** Makes the program take its time, less than two seconds, when it is asked to leave. */
	readonly leaveSlowly?: ContractCommand | undefined;
	/** Makes the program send what its adapter does not understand, and run on. */
	readonly breakConversation?: ContractCommand | undefined;
}

/** One worker under test. */
export interface ContractWorker {
	readonly connection: Connection;
	readonly process: WorkerProcess;
	/** What the adapter called `process.broken` with, in order, before the program was asked to leave. */
	readonly brokenBy: readonly Error[];
	/** Asks the program to leave, as a pool does: from now on `process.broken` has no effect. */
	leave(signal: AbortSignal): Promise<void>;
	/** Ends the process as `kill -9` does, from outside. */
	kill(): void;
	/** Ends what is left of it. Resolves when it is gone. */
	stop(): Promise<void>;
}

/** What the contract needs of an adapter. */
export interface AdapterHarness {
	/** A fresh adapter; asked once per case. */
	adapter(): Adapter;
	/** Starts one worker of it; see `startWorker`. */
	start(adapter: Adapter): Promise<ContractWorker>;
	readonly commands: ContractCommands;
	/** How many calls a worker of `start` runs at once. Default 1. */
	readonly callsPerWorker?: number | undefined;
	/**
	 * Whether the adapter can say of a call, after its worker's death, that it never began. Default: only if it
	 * prefetches calls.
	 */
	readonly begins?: "noted" | "unknown" | undefined;
	/** How long anything may take that must not hang, in milliseconds of real time. Default 10,000, and 30,000 for the start. */
	readonly withinMs?: number | undefined;
}

/** What a case may use. */
interface ContractBench extends ContractWorker {
	readonly commands: ContractCommands;
	/** Runs a command; rejects when it has not settled in time. */
	execute(
		command: ContractCommand,
		options?: Partial<CallOptions>,
	): Promise<unknown>;
	/** Opens a stream; each step rejects when it has not settled in time. */
	stream(
		command: ContractCommand,
		options?: Partial<CallOptions>,
	): AsyncIterableIterator<unknown>;
	/** Rejects when `promise` has not settled in time. */
	soon<Value>(what: string, promise: Promise<Value>): Promise<Value>;
	/** The worker still answers. */
	usable(): Promise<void>;
}

/** Makes a case that gets a worker of its own, which is gone when it ends. */
export type BenchCase = (
	title: string,
	body: (bench: ContractBench) => Promise<void>,
) => ContractCase;

/**
 * Everything that the pool relies on in an adapter, as cases for any test
 * runner: each `run` starts a worker of its own and rejects when a promise of
 * `Adapter` or `Connection` is broken.
 */
export function adapterContract(
	harness: AdapterHarness,
): readonly ContractCase[] {
	const onBench: BenchCase = (title, body) => ({
		title,
		run: async () => {
			const withinMs = harness.withinMs ?? WITHIN_MS;
			const worker = await startInTime(harness);
			try {
				await body(benchOf(worker, harness.commands, withinMs));
			} finally {
				await within(withinMs, "stop", worker.stop());
			}
		},
	});
	return [
		...callCases(onBench, harness.commands, harness.callsPerWorker ?? 1),
		...streamCases(onBench, harness.commands),
		...progressCases(onBench, harness.commands),
		...endingCases(onBench, harness.commands, harness.begins),
	];
}

/** A machine that does other work starts a program slowly; what it is asked then is answered soon. */
const START_WITHIN_MS = 30_000;
const WITHIN_MS = 10_000;

/** Starts a worker; one that comes too late is stopped. */
async function startInTime(harness: AdapterHarness): Promise<ContractWorker> {
	const start = harness.start(harness.adapter());
	try {
		return await within(harness.withinMs ?? START_WITHIN_MS, "start", start);
	} catch (error) {
		void start.then(
			(late) => late.stop(),
			() => {}, // It has left nothing.
		);
		throw error;
	}
}

function benchOf(
	worker: ContractWorker,
	commands: ContractCommands,
	withinMs: number,
): ContractBench {
	let calls = 0;
	const optionsOf = (given: Partial<CallOptions>): CallOptions => ({
		callId: `contract-${++calls}`,
		signal: new AbortController().signal,
		timeoutMs: undefined,
		sessionId: undefined,
		input: undefined,
		context: new AsyncResource("contract"),
		traceContext: {},
		...given,
	});
	const soon: ContractBench["soon"] = (what, promise) =>
		within(withinMs, what, promise);
	const execute: ContractBench["execute"] = ({ command, args }, options = {}) =>
		soon(
			`execute ${command}`,
			worker.connection.execute(command, args, optionsOf(options)),
		);
	return {
		...worker,
		commands,
		soon,
		execute,
		stream: ({ command, args }, options = {}) => {
			const { connection } = worker;
			if (!connection.stream)
				throw new TypeError(
					"The connection offers no streams, but the harness has commands for them.",
				);
			const items = connection
				.stream(command, args, optionsOf(options))
				[Symbol.asyncIterator]();
			return {
				next: () => soon(`next item of ${command}`, items.next()),
				return: () =>
					soon(
						`end of ${command}`,
						items.return?.() ??
							Promise.resolve({ done: true, value: undefined }),
					),
				[Symbol.asyncIterator]() {
					return this;
				},
			};
		},
		usable: async () => void (await execute(commands.echo)),
	};
}
