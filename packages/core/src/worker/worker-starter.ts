import { AsyncResource } from "node:async_hooks";
import { type Duplex, finished } from "node:stream";
import type { Adapter } from "../contract/adapter.ts";
import type { Clock } from "../contract/clock.ts";
import type { Connection } from "../contract/connection.ts";
import { StartError } from "../contract/errors.ts";
import type { ProcessExit } from "../contract/identity.ts";
import type { LaunchSpec, WorkerProcess } from "../contract/launch.ts";
import type { EndReason } from "../contract/process-registry.ts";
import { recordedError } from "../contract/recorded-error.ts";
import { messageOf } from "../contract/thrown.ts";
import type { StartedProcess, World } from "../contract/world.ts";
import { type Gate, resolvesWithin, withDeadline } from "../deadline.ts";
import type { ResolvedOptions } from "../options/pool-options.ts";
import { outbox } from "../outbox.ts";
import {
	type InheritedEnvironment,
	type OwnedProcess,
	startOwned,
} from "../process/owned-process.ts";
import {
	awaitLaunch,
	checkedConnection,
	checkedLaunch,
} from "./adapter-checks.ts";
import {
	type Companions,
	noteCompanionLost,
	noteForkLost,
	noteParentLost,
	tie,
} from "./companion-loss.ts";
import { formatLaunchMessage, shakeHands } from "./control-channel.ts";
import type { Worker, WorkerResources } from "./worker.ts";
import {
	exitedEarly,
	isTimeout,
	notReady,
	notSpawned,
	startTimedOut,
	withdrawn,
} from "./worker-errors.ts";
import {
	ConversationOutput,
	dumpUnreadyStacks,
	WorkerOutput,
} from "./worker-output.ts";
import { StacksOnRequest } from "./worker-stacks.ts";

/** What every start of a pool has in common. */
interface StarterDependencies extends InheritedEnvironment {
	readonly adapter: Adapter;
	readonly options: ResolvedOptions;
	readonly world: World;
	/** Lets a bounded number of workers start at the same time. */
	readonly gate: Gate;
	/** Present where workers need one. */
	readonly companions?: Companions | undefined;
	/** See `PoolInstrument.unobserved`. */
	readonly unobserved?: WorkerProcess["unobserved"];
}

/** Starts workers: an owned process, launch message and ready line, connection. */
export class WorkerStarter {
	readonly #dependencies: StarterDependencies;

	constructor(dependencies: StarterDependencies) {
		this.#dependencies = dependencies;
	}

	/**
	 * Brings one worker from nothing to ready.
	 *
	 * When it rejects, the process is gone or condemned, and recorded; without a
	 * `pid` there never was one.
	 *
	 * @throws StartError saying which step failed, with the worker's last lines.
	 */
	async start(
		worker: Worker,
		attempt: number,
		replaces: string | undefined,
	): Promise<void> {
		const leave = await this.#dependencies.gate.enter();
		try {
			await this.#sequence(worker, attempt, replaces);
		} catch (error) {
			const { registry } = this.#dependencies.world;
			if (isFailure(error))
				registry.failStart(worker.ref, recordedError(error));
			throw error;
		} finally {
			leave();
		}
	}

	async #sequence(
		worker: Worker,
		attempt: number,
		replaces: string | undefined,
	): Promise<void> {
		const { world } = this.#dependencies;
		const { clock, emit } = world;
		emit({
			type: "worker.starting",
			wallMs: clock.wall(),
			...worker.ref,
			attempt,
			replaces,
		});
		await this.#join(worker);
		const begunMs = clock.now();
		const { spec, owned } = await this.#spawn(worker);
		const spawnedMs = clock.now();
		const resources = this.#attach(worker, spec, owned);
		const { process, output } = resources;
		try {
			this.#dependencies.adapter.spawned?.();
			const { ready, connection, launchedMs } = await raceToReady(
				worker,
				process,
				this.#dependencies.options.start.timeoutMs,
				clock,
				(signal) => this.#connect(worker, spec, resources, signal),
			);
			output.awaited.started();
			const readyMs = clock.now();
			const { location } = connection;
			if (location !== undefined)
				world.registry.locate(worker.ref.incarnation, location);
			const inTime = worker.becameReady(connection, process.identity, () =>
				emit({
					type: "worker.ready",
					wallMs: clock.wall(),
					...worker.ref,
					pid: process.identity.pid,
					durationMs: readyMs - begunMs,
					phases: {
						spawnMs: spawnedMs - begunMs,
						launchMs: launchedMs - spawnedMs,
						connectMs: readyMs - launchedMs,
					},
					ready,
					location,
				}),
			);
			if (!inTime) throw await notInTime(worker, process);
		} catch (error) {
			if (isTimeout(error)) await dumpUnreadyStacks(resources, world);
			worker.condemn("start_failed", messageOf(error));
			await worker.output?.lastLines();
			// What a preloaded parent said last explains more than its end.
			if (process.source === "guard") noteParentLost(worker, process);
			await noteCompanionLost(worker, await exitSoFar(process));
			throw notReady(error, worker);
		}
	}

	/** Ties a worker to the companion of its pool, where that has one; waits for that. */
	async #join(worker: Worker): Promise<void> {
		const { companions } = this.#dependencies;
		if (companions === undefined) return;
		try {
			tie(worker, await companions.running(worker.startAbort.signal));
		} catch (error) {
			throw notSpawned(error, worker);
		}
	}

	/** Brings a worker from nothing to a process; leaves nothing when that fails. */
	async #spawn(worker: Worker): Promise<{
		readonly spec: LaunchSpec;
		readonly owned: OwnedProcess;
	}> {
		const assertWanted = (): void => {
			if (worker.state !== "starting") throw withdrawn(worker);
		};
		const { adapter, options, world } = this.#dependencies;
		const { directory } = worker.slot;
		const directories: string[] = [];
		try {
			assertWanted();
			// The adapter may write files there. If the host is killed now, the clean-up of its run removes them.
			world.host.createDirectory(directory);
			directories.push(directory);
			const answer = adapter.launch(worker.slot, worker.startAbort.signal);
			const spec = checkedLaunch(
				adapter.name,
				answer instanceof Promise
					? await awaitLaunch(
							answer,
							worker,
							options.start.timeoutMs,
							world.clock,
						)
					: answer,
			);
			const owned = await startOwned(
				spec,
				{
					...worker.slot,
					hasDirectory: true,
					endedAs: (error) => {
						noteForkLost(worker, error);
						return unspawned(worker);
					},
				},
				this.#dependencies,
				world,
				assertWanted,
			);
			return { spec, owned };
		} catch (error) {
			world.host.remove(directories);
			worker.startAbort.abort(error);
			noteForkLost(worker, error);
			throw notSpawned(error, worker);
		}
	}

	#attach(
		worker: Worker,
		spec: LaunchSpec,
		owned: OwnedProcess,
	): WorkerResources {
		const { world, options } = this.#dependencies;
		const { process } = owned;
		const output = new WorkerOutput(
			process,
			spec.stdio !== "adapter",
			worker.ref,
			options.output,
			world,
			() => worker.calls.only?.callId,
		);
		const resources: WorkerResources = {
			...owned,
			output,
			conversation: new ConversationOutput(
				process,
				spec.stdio === "adapter",
				world.clock,
			),
			dumpSignal: spec.dumpSignal,
			stacks:
				spec.stacks && new StacksOnRequest(spec.stacks, process, output, world),
			unobserved: this.#dependencies.unobserved,
		};
		outbox.during(() => {
			// One that was stopped meanwhile is ended by this.
			world.emit({
				type: "worker.spawned",
				wallMs: world.clock.wall(),
				...worker.ref,
				pid: process.identity.pid,
				source: process.source,
			});
			worker.attach(resources);
		});
		return resources;
	}

	/** Launch message, ready line, connection. */
	async #connect(
		worker: Worker,
		spec: LaunchSpec,
		resources: WorkerResources,
		signal: AbortSignal,
	): Promise<Handshake> {
		const { adapter, world } = this.#dependencies;
		const { slot } = worker;
		const token = world.random.token();
		const { process, lifeline, descriptors } = resources;
		let ready: unknown;
		descriptors.executed((await process.executed) ?? new Map());
		if (process.control !== undefined && lifeline !== undefined) {
			const message = formatLaunchMessage(
				slot,
				lifeline.path,
				token,
				spec.launchPayload,
			);
			ready = await shakeHands(
				process.control,
				slot.workerId,
				message,
				spec.refusalCodes,
			);
		}
		const launchedMs = world.clock.now();
		const said = { ready, token };
		const view = processView(worker, resources, spec, said, world);
		signal.throwIfAborted(); // Nobody waits for a conversation any more.
		const { unobserved } = resources;
		// One that converses on standard input and output makes no connection, and has functions of the program called.
		const connecting =
			unobserved === undefined || spec.stdio === "adapter"
				? adapter.connect(view, signal)
				: unobserved(() => adapter.connect(view, signal));
		const connection = checkedConnection(await connecting);
		return { ready, connection, launchedMs };
	}
}

/** Why a worker that has a connection is no longer starting. */
async function notInTime(
	worker: Worker,
	process: StartedProcess,
): Promise<StartError> {
	const exit = await exitSoFar(process);
	return exit === undefined ? withdrawn(worker) : exitedEarly(worker, exit);
}

/** Whether a start failed, and was not only given up. */
function isFailure(error: unknown): boolean {
	return !(error instanceof StartError && error.code === "START_WITHDRAWN");
}

/** Why there is no process: its start failed, or nobody wants it any more. */
function unspawned({ state, cause }: Worker): EndReason {
	if (state !== "starting") return cause.reason ?? "closed";
	return cause.reason ?? "start_failed";
}

/** How it ended, when it has. */
function exitSoFar({
	exited,
}: Pick<StartedProcess, "exited">): Promise<ProcessExit | undefined> {
	return Promise.race([exited, Promise.resolve(undefined)]);
}

/** What the steps of a start end with. */
export interface Handshake {
	readonly connection: Connection;
	/** What the program reported about itself. */
	readonly ready: unknown;
	/** When the launch message was answered. */
	readonly launchedMs: number;
}

/** What fails because the process is ending fails a moment before its exit is seen. One that runs on is awaited no longer. */
const EXIT_LIMIT_MS = 1_000;

/**
 * Runs the steps from spawned to connected against the end of the process and the
 * deadline. The loser is notified by the signal, and a connection that comes too
 * late is closed.
 *
 * @throws StartError `START_TIMEOUT`, `WORKER_EXITED_EARLY`, or what a step threw.
 */
export async function raceToReady(
	worker: Worker,
	process: StartedProcess,
	timeoutMs: number,
	clock: Clock,
	steps: (signal: AbortSignal) => Promise<Handshake>,
): Promise<Handshake> {
	const { startAbort } = worker;
	const end = ended(worker, process, clock);
	end.catch(() => {}); // Handled also when it lost the race.
	const going = steps(startAbort.signal);
	try {
		return await withDeadline(
			Promise.race([going, end]),
			{ clock, ms: timeoutMs, counts: "running" },
			() => {
				throw startTimedOut(worker, timeoutMs);
			},
		);
	} catch (error) {
		startAbort.abort(error);
		going
			.then(({ connection }) => connection[Symbol.asyncDispose]())
			.catch(
				() => {}, // It failed as well, or could not be closed: the process ends in any case.
			);
		throw explainsItself(error) ? error : await exitInstead(error);
	}

	/** A conversation that fails may announce an exit, and the exit explains more. */
	async function exitInstead(error: unknown): Promise<unknown> {
		return await withDeadline(
			end.catch((ending: unknown) => ending),
			{ clock, ms: EXIT_LIMIT_MS },
			() => error,
		);
	}
}

/** Rejects when the process has ended, with the best reason that there is. */
async function ended(
	worker: Worker,
	process: StartedProcess,
	clock: Clock,
): Promise<never> {
	// A process that cannot be killed is waited for no longer than its worker.
	const gone = worker.gone.then(() => undefined);
	const exit = await Promise.race([process.exited, gone]);
	if (exit === undefined) throw withdrawn(worker);
	await process.executed;
	// Its exit may be seen before its last line, which says why: that is read first.
	if (process.control !== undefined)
		await resolvesWithin(endOf(process.control), EXIT_LIMIT_MS, clock);
	throw exitedEarly(worker, exit);
}

/** Resolves when everything that came on a channel has been read, or the channel is broken. */
function endOf(channel: Duplex): Promise<void> {
	return new Promise((resolve) => {
		finished(channel, { writable: false }, () => resolve());
	});
}

/** What a program or its adapter says of a failed start explains more than an exit. */
function explainsItself(error: unknown): boolean {
	return error instanceof StartError && error.code !== "WORKER_EXITED_EARLY";
}

/** The process of a worker as its adapter sees it. @param ready what the program sent in its ready line. */
function processView(
	worker: Worker,
	{ process, descriptors, output, conversation, unobserved }: WorkerResources,
	{ stdio }: Pick<LaunchSpec, "stdio">,
	{ ready, token }: { readonly ready: unknown; readonly token: string },
	{ clock, emit }: Pick<World, "clock" | "emit">,
): WorkerProcess {
	const conversing = stdio === "adapter";
	// What arrives on a connection that is made unobserved would otherwise be reported to listeners unobserved, too.
	const outside =
		unobserved === undefined
			? (report: () => void): void => report()
			: AsyncResource.bind((report: () => void): void => report());
	return {
		unobserved,
		slot: worker.slot,
		pid: process.identity.pid,
		ready,
		token,
		stdin: conversing ? process.stdin : undefined,
		stdout: conversing ? process.stdout : undefined,
		descriptor: (fd) => {
			const stream = process.streams.get(fd);
			if (stream === undefined)
				throw new TypeError(
					`descriptor(${fd}): launch() asked for no stream with this number.`,
				);
			return stream;
		},
		listener: (fd) => descriptors.address(fd),
		// An adapter gives up what is open then: what the worker wrote comes first.
		exited: process.exited.then(async (exit) => {
			await conversation.finalOutput();
			return exit;
		}),
		line: async (match, from, signal) => {
			if (conversing && from === "stdout")
				throw new TypeError(
					'line(): with stdio "adapter" the adapter reads standard output itself.',
				);
			return await output.awaited.next(match, from, signal);
		},
		notify: (notification, data) =>
			outside(() =>
				emit({
					type: "worker.notified",
					wallMs: clock.wall(),
					...worker.ref,
					notification,
					data,
				}),
			),
		log: (record) =>
			outside(() =>
				emit({
					type: "worker.logged",
					wallMs: record.wallMs,
					...worker.ref,
					record,
				}),
			),
		starting: ({ awaits, stray }) => {
			const known = worker.startReport;
			worker.startReport = {
				awaits: awaits ?? known.awaits,
				stray: known.stray ?? stray,
			};
		},
		broken: (error) => outside(() => worker.conversationOver(error.message)),
	};
}
