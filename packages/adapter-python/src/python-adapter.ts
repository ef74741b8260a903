import { availableParallelism } from "node:os";
import { parse } from "node:path";
import { clearInterval, setImmediate, setInterval } from "node:timers";
import { StartError } from "@snakepit/core";
import {
	type Adapter,
	type Connection,
	ConnectionBrokenError,
	type LaunchSpec,
	type PreloadSlot,
	type ReloadablePool,
	type WorkerProcess,
	type WorkerSlot,
} from "@snakepit/core/adapter";
import type { LayerReport } from "@snakepit/core/protection";
import { type AdapterKind, loadTransport, PYTHON } from "./adapter-kind.ts";
import type { Conversation } from "./conversation/conversation.ts";
import {
	choiceNote,
	chooseInterpreter,
	compileNotes,
	requireBridge,
} from "./interpreter/choose-interpreter.ts";
import {
	type Choice,
	interpreterSources,
	namedSources,
	searchSetting,
} from "./interpreter/interpreter.ts";
import { rememberedFacts } from "./interpreter/probe.ts";
import {
	comparedOptions,
	type PythonOptions,
	type ResolvedOptions,
} from "./options.ts";
import { resolveOptions } from "./resolve-options.ts";
import { openCallNotes } from "./shared-memory/call-page.ts";
import {
	SharedMemory,
	type SharingLimits,
} from "./shared-memory/shared-memory.ts";
import { requireDirectory, requireTools } from "./tool-sources.ts";
import { WatchedSources } from "./watch/source-watch.ts";
import {
	bridgeSpec,
	type LaunchHost,
	launchSpec,
	type ProgramSlot,
	preloadSpec,
	relayedLimits,
	remoteEnv,
	sharedMemorySetting,
	socketPath,
} from "./worker/launch-spec.ts";
import {
	checkReadyPayload,
	type ToolDescription,
} from "./worker/worker-facts.ts";

/** What `python` returns. */
export interface PythonAdapter extends Adapter {
	/**
	 * Asks a running worker for its tools; all have the same ones.
	 *
	 * @throws ConnectionBrokenError when no worker runs.
	 */
	describe(signal?: AbortSignal): Promise<readonly ToolDescription[]>;
}

/** For packages that build on this one and whose workers run elsewhere: other programs of the bridge. */
export interface BridgeProgram {
	/**
	 * What to execute for a program of the bridge, without the variables of workers. It gets the payload of workers, and
	 * refuses it with the same codes.
	 */
	program(command: string, slot: ProgramSlot): LaunchSpec;
	/** The variables of one worker, limits of its threads included; `null` removes one. */
	workerEnv(
		slot: WorkerSlot,
		threads: number,
	): Readonly<Record<string, string | null>>;
	/** Which values travel in the sideband, if there is a relay that shares memory with the worker. */
	sharingLimits(): SharingLimits;
}

/** A timer keeps the program running while a worker answers; it never fires. */
const FOREVER_MS = 2 ** 31 - 1;

/**
 * An adapter whose workers are Python processes that run the tools of one module.
 *
 * @throws OptionsError
 */
export function python(options: PythonOptions): PythonAdapter {
	return pythonAdapter(options, PYTHON);
}

/**
 * Finds the interpreter that the workers of such an adapter would use, and proves that it has the bridge.
 *
 * @throws OptionsError; StartError `PYTHON_NOT_FOUND`, `PYTHON_UNUSABLE`, `PYTHON_TOO_OLD`, `BRIDGE_MISSING`,
 *   `VERSION_MISMATCH`, or `TOOLS_IMPORT_FAILED` if the file of the tools does not exist.
 */
export async function findPython(options: PythonOptions): Promise<string> {
	const workers = new PythonWorkers(resolveOptions(options, PYTHON));
	await workers.prepare(new AbortController().signal);
	return workers.chosen().program;
}

/**
 * The same with another name and transport, for packages that build on this one.
 *
 * @throws OptionsError
 */
export function pythonAdapter(
	options: PythonOptions,
	kind: AdapterKind,
): PythonAdapter & BridgeProgram {
	return new PythonWorkers(resolveOptions(options, kind));
}

/** Not needed before a worker starts: a program that only imports the package does not load it. */
const loadConversation = () => import("./conversation/conversation.ts");

class PythonWorkers implements PythonAdapter, BridgeProgram {
	readonly name: string;
	readonly madeFrom: unknown;
	readonly debugged: boolean;
	private readonly options: ResolvedOptions;
	private readonly watched: WatchedSources | undefined;
	private interpreter: Choice | undefined;
	/** Those of ended workers are removed when another one starts. */
	private conversations: readonly Conversation[] = [];

	constructor(options: ResolvedOptions) {
		this.options = options;
		this.name = options.kind.name;
		this.debugged = options.debug !== "off";
		this.watched =
			options.watch === "off" ? undefined : new WatchedSources(options);
		this.madeFrom = comparedOptions(options);
	}

	adopt(next: PythonAdapter): void {
		const { hostFunctions } = (next as PythonWorkers).options;
		for (const [name, run] of hostFunctions)
			this.options.hostFunctions.set(name, run);
	}

	async prepare(signal: AbortSignal): Promise<void> {
		requireDirectory(this.options);
		requireTools(this.options);
		const setting = searchSetting(this.options);
		const { kind } = this.options;
		// A transport that may be missing must be reported before anything is started: it loads during the search for Python,
		// whose error comes first. Any other loads while the worker starts.
		const loaded =
			kind.transport.remedy === undefined ? undefined : this.load();
		loaded?.catch(() => {});
		const sources = await interpreterSources(this.options, setting, signal);
		const known = rememberedFacts();
		const choice = await chooseInterpreter(sources, setting, signal, known);
		requireBridge(choice, kind.transport.extra);
		await loaded;
		this.interpreter = choice;
	}

	async inspect(): Promise<LayerReport> {
		const { inspectPython } = await import("./interpreter/inspect-python.ts");
		if (this.options.environment !== undefined)
			return {
				layer: this.name,
				status: "available",
				detail:
					"the first pool creates the environment, with compiled files; this report does not examine it",
			};
		const setting = searchSetting(this.options);
		const sources = namedSources(this.options, setting);
		return inspectPython(sources, setting, this.options);
	}

	notes(): readonly string[] {
		const choice = this.interpreter;
		return choice ? [choiceNote(choice), ...compileNotes(choice)] : [];
	}

	watch(pool: ReloadablePool): () => void {
		return this.watched?.watch(pool) ?? (() => {});
	}

	/** Loads what the conversation with a worker needs. */
	private load(): Promise<unknown> {
		return Promise.all([loadTransport(this.options.kind), loadConversation()]);
	}

	spawned(): void {
		// Started when the launch message has been sent. `connect` reports an error of it.
		setImmediate(() => void this.load().catch(() => {}));
	}

	launch(slot: WorkerSlot): LaunchSpec {
		return launchSpec(slot, this.chosen(), this.options, this.host());
	}

	program(command: string, slot: ProgramSlot): LaunchSpec {
		const host = this.host();
		return bridgeSpec(command, slot, this.chosen(), this.options, host);
	}

	workerEnv(
		slot: WorkerSlot,
		threads: number,
	): Readonly<Record<string, string | null>> {
		return remoteEnv(slot, threads, this.options);
	}

	sharingLimits(): SharingLimits {
		return relayedLimits(this.options.maxMessageBytes);
	}

	preload(slot: PreloadSlot): LaunchSpec | undefined {
		return preloadSpec(slot, this.chosen(), this.options, this.host());
	}

	async connect(
		worker: WorkerProcess,
		signal: AbortSignal,
	): Promise<Connection> {
		const { maxMessageBytes, streamCredit, hostFunctions, kind } = this.options;
		const { slot } = worker;
		const { workerId, callsPerWorker } = slot;
		checkReadyPayload(workerId, worker.ready, kind.transport.name);
		const { sharedMemory, callPage } = sharedMemorySetting(slot, this.options);
		const openChannel = await loadTransport(kind);
		const { Conversation } = await loadConversation();
		const conversation = new Conversation(worker, {
			callsAtOnce: callsPerWorker,
			maxMessageBytes,
			streamCredit,
			hostFunctions,
			sources: this.watched?.note,
			sharedMemory:
				sharedMemory === undefined
					? SharedMemory.behindRelay(
							this.sharingLimits(),
							kind.transport.sidebandBytes?.(worker) ?? 0,
						)
					: SharedMemory.inDirectory(sharedMemory),
			...openCallNotes(callPage, callsPerWorker),
		});
		const address = {
			socket: socketPath(slot),
			token: worker.token,
			maxMessageBytes,
			worker,
		};
		try {
			conversation.attach(await openChannel(address, conversation, signal));
		} catch (cause) {
			// It keeps the page of calls open.
			await conversation[Symbol.asyncDispose]();
			if (signal.aborted) throw cause;
			throw new StartError({
				code: "CONNECT_FAILED",
				message: `Worker ${workerId} reported that it is ready, but its socket cannot be used: ${String(cause)}`,
				cause,
			});
		}
		const open = this.conversations.filter(({ isOpen }) => isOpen);
		this.conversations = [...open, conversation];
		return conversation;
	}

	async describe(
		signal: AbortSignal = new AbortController().signal,
	): Promise<readonly ToolDescription[]> {
		const conversation = this.conversations.find(({ isOpen }) => isOpen);
		if (conversation === undefined) {
			throw new ConnectionBrokenError({
				ran: "no",
				message:
					"No worker of this adapter is ready, so none can describe its tools. Open a pool with this adapter, or try again when a worker is ready.",
			});
		}
		const hold = setInterval(() => {}, FOREVER_MS);
		try {
			const { descriptionOf } = await import("./worker/worker-facts.ts");
			return (await conversation.describe(signal)).map(descriptionOf);
		} finally {
			clearInterval(hold);
		}
	}

	chosen(): Choice {
		if (this.interpreter !== undefined) return this.interpreter;
		throw new TypeError(
			`${this.options.kind.maker}: prepare() must have resolved before launch().`,
		);
	}

	private host(): LaunchHost {
		const { env, platform, argv } = process;
		const program = parse(argv[1] ?? "node").name;
		return { parallelism: availableParallelism(), env, program, platform };
	}
}
