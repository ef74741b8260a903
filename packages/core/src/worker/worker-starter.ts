import { join } from "node:path";
import type { Adapter, LaunchSpec, WorkerProcess } from "../adapter.ts";
import type { ResolvedOptions } from "../options.ts";
import type { LifelineListener, StartedProcess, World } from "../world.ts";
import { formatLaunchMessage, shakeHands } from "./control-channel.ts";
import { fingerprint } from "./fingerprint.ts";
import { processSpec } from "./process-spec.ts";
import { explained, withdrawn } from "./start-errors.ts";
import type { StartGate } from "./start-gate.ts";
import { type Acquaintance, raceToReady } from "./start-race.ts";
import type { Worker } from "./worker.ts";
import { WorkerOutput } from "./worker-output.ts";

/** What every start of a pool has in common. */
export interface StarterSetting {
	readonly adapter: Adapter;
	readonly options: ResolvedOptions;
	readonly world: World;
	readonly gate: StartGate;
	/** The value of the marker variable. */
	readonly marker: string;
	/** The environment that workers inherit, before the adapter's own. */
	readonly environment: Readonly<Record<string, string | undefined>>;
}

interface Spawned {
	readonly process: StartedProcess;
	/** Only for programs that speak the control channel. */
	readonly lifeline: LifelineListener | undefined;
}

/**
 * Starts worker processes: reserve, listen for the lifeline, spawn, record, shake
 * hands, connect.
 *
 * The reservation is on disk before there is a process, and the process is
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
	 * When it rejects, the process is gone or condemned, and recorded.
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
		const { adapter, world } = this.#setting;
		const { clock, emit } = world;
		const begunMs = clock.now();
		emit({
			type: "worker.starting",
			wallMs: clock.wall(),
			...worker.ref,
			attempt,
			replaces,
		});
		if (worker.state !== "starting") throw withdrawn(worker);
		const spec = adapter.launch(worker.seat);
		const { process, lifeline } = await this.#spawn(worker, spec);
		const spawnedMs = clock.now();
		this.#attach(worker, spec, process, lifeline);
		try {
			const { ready, connection, launchedMs } = await raceToReady(
				worker,
				process,
				this.#setting.options.start.timeoutMs,
				clock,
				(signal) => this.#getToKnow(worker, spec, process, lifeline, signal),
			);
			if (!worker.becameReady(connection)) throw withdrawn(worker);
			const readyMs = clock.now();
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
			});
		} catch (error) {
			const why = error instanceof Error ? error.message : String(error);
			worker.condemn("start_failed", why);
			await worker.lastLines();
			throw explained(error, worker);
		}
	}

	/** Reserves, makes what the worker needs, and spawns; undoes all of it when that fails. */
	async #spawn(worker: Worker, spec: LaunchSpec): Promise<Spawned> {
		const { world, marker, environment } = this.#setting;
		const { seat } = worker;
		const { registry, host } = world;
		registry.reserve({
			incarnation: seat.incarnation,
			workerId: seat.workerId,
			pool: seat.pool,
			fingerprint: fingerprint(spec),
			files: [seat.directory],
		});
		let lifeline: LifelineListener | undefined;
		try {
			host.createDirectory(seat.directory);
			if (spec.launchPayload !== undefined)
				lifeline = await host.listenLifeline(join(seat.directory, "l"));
			const process = await host.source.start(
				processSpec(spec, seat, marker, environment),
				(identity) =>
					registry.activate(seat.incarnation, identity, identity.pid),
			);
			return { process, lifeline };
		} catch (error) {
			lifeline?.close();
			host.remove([seat.directory]);
			registry.end(seat.incarnation, {
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
	): void {
		const { world, options } = this.#setting;
		const output = new WorkerOutput(
			process,
			spec.stdio !== "adapter",
			worker.ref,
			options.output,
			world,
		);
		worker.attach({
			process,
			output,
			lifeline,
			dumpSignal: spec.dumpSignal,
			files: [worker.seat.directory],
		});
		world.emit({
			type: "worker.spawned",
			wallMs: world.clock.wall(),
			...worker.ref,
			pid: process.identity.pid,
			source: world.host.source.name,
		});
	}

	/** Launch message, ready line, connection. */
	async #getToKnow(
		worker: Worker,
		spec: LaunchSpec,
		process: StartedProcess,
		lifeline: LifelineListener | undefined,
		signal: AbortSignal,
	): Promise<Acquaintance> {
		const { adapter, world } = this.#setting;
		const { seat } = worker;
		const token = world.random.token();
		let ready: unknown;
		if (process.control !== undefined && lifeline !== undefined) {
			const message = formatLaunchMessage(
				seat,
				lifeline.path,
				token,
				spec.launchPayload,
			);
			ready = await shakeHands(process.control, seat.workerId, message);
		}
		const launchedMs = world.clock.now();
		const conversing = spec.stdio === "adapter";
		const view: WorkerProcess = {
			seat,
			pid: process.identity.pid,
			ready,
			token,
			stdin: conversing ? process.stdin : undefined,
			stdout: conversing ? process.stdout : undefined,
			exited: process.exited,
			log: (record) =>
				world.emit({
					type: "worker.logged",
					wallMs: record.wallMs,
					...worker.ref,
					record,
				}),
			broken: (error) =>
				worker.condemn("broken", `its conversation broke: ${error.message}`),
		};
		const connection = await adapter.connect(view, signal);
		return { ready, connection, launchedMs };
	}
}
