import type { Adapter } from "../contract/adapter.ts";
import type { StartError } from "../contract/errors.ts";
import type { ProcessExit } from "../contract/identity.ts";
import type { LaunchSpec } from "../contract/launch.ts";
import { messageOf } from "../contract/thrown.ts";
import type { StartedProcess, World } from "../contract/world.ts";
import type { ResolvedOptions } from "../options/pool-options.ts";
import { outbox } from "../outbox.ts";
import { type OwnedProcess, startOwned } from "../process/owned-process.ts";
import type { SpecSetting } from "../process/process-spec.ts";
import { checkedConnection, checkedLaunch } from "./adapter-answers.ts";
import { awaitLaunch } from "./awaited-launch.ts";
import { type Companions, noteCompanionLost, tie } from "./companion-tie.ts";
import { formatLaunchMessage, shakeHands } from "./control-channel.ts";
import { ConversationOutput } from "./conversation-output.ts";
import { noteForkLost, noteParentLost } from "./parent-lost.ts";
import { processView } from "./process-view.ts";
import { dumpUnreadyStacks } from "./stack-dump.ts";
import {
	exitedEarly,
	isTimeout,
	notReady,
	notSpawned,
	withdrawn,
} from "./start-errors.ts";
import type { StartGate } from "./start-gate.ts";
import { type Handshake, raceToReady } from "./start-race.ts";
import type { Worker } from "./worker.ts";
import { WorkerOutput } from "./worker-output.ts";
import type { WorkerBelongings } from "./worker-parts.ts";

/** What every start of a pool has in common. */
export interface StarterSetting extends SpecSetting {
	readonly adapter: Adapter;
	readonly options: ResolvedOptions;
	readonly world: World;
	readonly gate: StartGate;
	/** Present where workers need one. */
	readonly companions?: Companions | undefined;
}

/** Starts workers: an owned process, launch message and ready line, connection. */
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
		const belongings = this.#attach(worker, spec, owned);
		const { process, output } = belongings;
		try {
			this.#setting.adapter.spawned?.();
			const { ready, connection, launchedMs } = await raceToReady(
				worker,
				process,
				this.#setting.options.start.timeoutMs,
				clock,
				(signal) => this.#getToKnow(worker, spec, belongings, signal),
			);
			output.awaited.started();
			const readyMs = clock.now();
			const { place } = connection;
			if (place !== undefined)
				world.registry.locate(worker.ref.incarnation, place);
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
					place,
				}),
			);
			if (!inTime) throw await notInTime(worker, process);
		} catch (error) {
			if (isTimeout(error)) await dumpUnreadyStacks(belongings, world);
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
		const { companions } = this.#setting;
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
		const { adapter, options, world } = this.#setting;
		const { directory } = worker.slot;
		const made: string[] = [];
		try {
			assertWanted();
			// The adapter may write a file there for the program. A host that is killed now leaves it to whoever removes the
			// directory of its run.
			world.host.createDirectory(directory);
			made.push(directory);
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
				{ ...worker.slot, hasDirectory: true },
				this.#setting,
				world,
				assertWanted,
			);
			return { spec, owned };
		} catch (error) {
			world.host.remove(made);
			worker.startAbort.abort(error);
			noteForkLost(worker, error);
			throw notSpawned(error, worker);
		}
	}

	#attach(
		worker: Worker,
		spec: LaunchSpec,
		owned: OwnedProcess,
	): WorkerBelongings {
		const { world, options } = this.#setting;
		const { process } = owned;
		const output = new WorkerOutput(
			process,
			spec.stdio !== "adapter",
			worker.ref,
			options.output,
			world,
			() => worker.calls.only?.callId,
		);
		const belongings: WorkerBelongings = {
			...owned,
			output,
			conversation: new ConversationOutput(
				process,
				spec.stdio === "adapter",
				world.clock,
			),
			dumpSignal: spec.dumpSignal,
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
			worker.attach(belongings);
		});
		return belongings;
	}

	/** Launch message, ready line, connection. */
	async #getToKnow(
		worker: Worker,
		spec: LaunchSpec,
		belongings: WorkerBelongings,
		signal: AbortSignal,
	): Promise<Handshake> {
		const { adapter, world } = this.#setting;
		const { slot } = worker;
		const token = world.random.token();
		const { process, lifeline, descriptors } = belongings;
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
		const view = processView({
			...belongings,
			...{ worker, spec, ready, token, world },
		});
		signal.throwIfAborted(); // Nobody waits for a conversation any more.
		const connection = checkedConnection(await adapter.connect(view, signal));
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

/** How it ended, when it has. */
function exitSoFar({
	exited,
}: Pick<StartedProcess, "exited">): Promise<ProcessExit | undefined> {
	return Promise.race([exited, Promise.resolve(undefined)]);
}
