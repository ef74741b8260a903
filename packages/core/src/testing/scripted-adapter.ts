import type { Adapter } from "../contract/adapter.ts";
import type { Connection, PingReply } from "../contract/connection.ts";
import type {
	LaunchSpec,
	WorkerProcess,
	WorkerSlot,
} from "../contract/launch.ts";
import type { ToolMap, UntypedTools } from "../pool/tools.ts";
import { startAsWorker, writeReady } from "./fake-control-channel.ts";
import type { FakeProcess, FakeProgram } from "./fake-process.ts";
import {
	type ScriptedCommands,
	scriptedConnection,
} from "./scripted-connection.ts";
import type { ScriptedPrefetch } from "./scripted-queue.ts";
import { ScriptedWorker } from "./scripted-worker.ts";

/** What a scripted adapter does; whatever is left out works at once. */
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
		const aborted = new Promise<never>((_resolve, reject) => {
			signal.addEventListener("abort", () => reject(signal.reason), {
				once: true,
			});
		});
		signal.throwIfAborted();
		await Promise.race([options.connect?.(scripted, signal), aborted]);
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
