import type { Adapter, LaunchSpec, WorkerSlot } from "../adapter.ts";
import type { ResolvedOptions } from "../options.ts";
import type { LifelineListener, StartedProcess, World } from "../world.ts";
import { checkedConnection, checkedLaunch } from "./adapter-answers.ts";
import { awaitLaunch } from "./awaited-launch.ts";
import { formatLaunchMessage, shakeHands } from "./control-channel.ts";
import { ConversationOutput } from "./conversation-output.ts";
import { fingerprint } from "./fingerprint.ts";
import { processSpec, type SpecSetting } from "./process-spec.ts";
import { processView } from "./process-view.ts";
import { dumpUnreadyStacks } from "./stack-dump.ts";
import {
	isTimeout,
	messageOf,
	notReady,
	notSpawned,
	withdrawn,
} from "./start-errors.ts";
import type { StartGate } from "./start-gate.ts";
import { type Handshake, raceToReady } from "./start-race.ts";
import type { Worker } from "./worker.ts";
import { listenFor, type WorkerLifeline } from "./worker-lifeline.ts";
import { WorkerOutput } from "./worker-output.ts";
import type { WorkerBelongings } from "./worker-parts.ts";

/** What every start of a pool has in common. */
export interface StarterSetting extends SpecSetting {
	readonly adapter: Adapter;
	readonly options: ResolvedOptions;
	readonly world: World;
	readonly gate: StartGate;
}

interface Spawned {
	readonly spec: LaunchSpec;
	readonly process: StartedProcess;
	readonly lifeline: LifelineListener | undefined;
}

/**
 * Starts worker processes: reserve, listen for the lifeline, spawn, record, shake
 * hands, connect.
 *
 * The reservation is in the ledger's file before there is a process, and the process is
 * recorded in the turn in which it is spawned: a host that is killed in between
 * leaves a trace that the next start of any program finds.
 */
export class WorkerStarter {
	readonly #setting: StarterSetting;

	constructor(setting: StarterSetting) {
		this.#setting = setting;
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
		const leave = await this.#setting.gate.enter();
		try {
			await this.#sequence(worker, attempt, replaces);
		} finally {
			leave();
		}
	}

	async #sequence(
		worker: Worker,
		attempt: number,
		replaces: string | undefined,
	): Promise<void> {
		const { world } = this.#setting;
		const { clock, emit } = world;
		const begunMs = clock.now();
		emit({
			type: "worker.starting",
			wallMs: clock.wall(),
			...worker.ref,
			attempt,
			replaces,
		});
		const { spec, process, lifeline } = await this.#spawn(worker);
		const { dumpSignal } = spec;
		const spawnedMs = clock.now();
		const { output, conversation } = this.#attach(
			worker,
			spec,
			process,
			lifeline,
		);
		try {
			const { ready, connection, launchedMs } = await raceToReady(
				worker,
				process,
				this.#setting.options.start.timeoutMs,
				clock,
				(signal) =>
					this.#getToKnow(
						worker,
						spec,
						process,
						lifeline,
						{ output, conversation },
						signal,
					),
			);
			output.awaited.started();
			const readyMs = clock.now();
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
				}),
			);
			if (!inTime) throw withdrawn(worker);
		} catch (error) {
			if (isTimeout(error))
				await dumpUnreadyStacks({ process, output, dumpSignal }, world);
			worker.condemn("start_failed", messageOf(error));
			await worker.output?.lastLines();
			throw notReady(error, worker);
		}
	}

	/** Brings a worker from nothing to a process; leaves nothing when that fails. */
	async #spawn(worker: Worker): Promise<Spawned> {
		try {
			if (worker.state !== "starting") throw withdrawn(worker);
			const { adapter, options, world } = this.#setting;
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
			this.#setting.world.registry.reserve({
				incarnation: worker.slot.incarnation,
				workerId: worker.slot.workerId,
				pool: worker.slot.pool,
				fingerprint: fingerprint(spec),
				files: filesOf(worker.slot),
			});
			return await this.#spawnReserved(worker, spec);
		} catch (error) {
			worker.startAbort.abort(error);
			throw notSpawned(error, worker);
		}
	}

	/** Makes what the worker needs, and spawns; undoes all of it when that fails. */
	async #spawnReserved(worker: Worker, spec: LaunchSpec): Promise<Spawned> {
		const { registry, host, source } = this.#setting.world;
		const { incarnation, directory } = worker.slot;
		const made: string[] = [];
		let lifeline: WorkerLifeline | undefined;
		try {
			for (const path of filesOf(worker.slot)) {
				host.createDirectory(path);
				made.push(path);
			}
			lifeline = await listenFor(spec, directory, host);
			if (worker.state !== "starting") throw withdrawn(worker);
			const process = await source.start(
				processSpec(spec, worker.slot, this.#setting, lifeline?.launcher),
				(identity) => registry.activate(incarnation, identity, identity.pid),
			);
			return { spec, process, lifeline: lifeline?.listener };
		} catch (error) {
			lifeline?.listener.close();
			host.remove(made);
			registry.end(incarnation, {
				exit: undefined,
				reason: "start_failed",
				killer: "none",
			});
			throw error;
		}
	}

	#attach(
		worker: Worker,
		spec: LaunchSpec,
		process: StartedProcess,
		lifeline: LifelineListener | undefined,
	): WorkerBelongings {
		const { world, options } = this.#setting;
		const output = new WorkerOutput(
			process,
			spec.stdio !== "adapter",
			worker.ref,
			options.output,
			world,
			() => worker.onlyCall,
		);
		const belongings: WorkerBelongings = {
			process,
			output,
			conversation:
				spec.stdio === "adapter"
					? new ConversationOutput(process, world.clock)
					: undefined,
			lifeline,
			dumpSignal: spec.dumpSignal,
			files: filesOf(worker.slot),
		};
		worker.attach(belongings);
		world.emit({
			type: "worker.spawned",
			wallMs: world.clock.wall(),
			...worker.ref,
			pid: process.identity.pid,
			source: process.source,
		});
		return belongings;
	}

	/** Launch message, ready line, connection. */
	async #getToKnow(
		worker: Worker,
		spec: LaunchSpec,
		process: StartedProcess,
		lifeline: LifelineListener | undefined,
		{ output, conversation }: Pick<WorkerBelongings, "output" | "conversation">,
		signal: AbortSignal,
	): Promise<Handshake> {
		const { adapter, world } = this.#setting;
		const { slot } = worker;
		const token = world.random.token();
		let ready: unknown;
		await process.executed;
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
		const view = processView({
			...{ worker, process, ready, token, output, conversation, world },
		});
		signal.throwIfAborted(); // Nobody waits for a conversation any more.
		const connection = checkedConnection(await adapter.connect(view, signal));
		return { ready, connection, launchedMs };
	}
}

/** What is made for a worker, and is removed with it. */
function filesOf({
	directory,
	sharedDirectory,
}: WorkerSlot): readonly string[] {
	return [directory, sharedDirectory].filter((path) => path !== undefined);
}
