import { join } from "node:path";
import type {
	Adapter,
	Connection,
	LaunchSpec,
	Seat,
	WorkerProcess,
} from "../adapter.ts";
import { SnakepitError, StartError } from "../errors.ts";
import { INCARNATION_VARIABLE, MARKER_VARIABLE } from "../marker.ts";
import type { ResolvedOptions } from "../options.ts";
import type {
	ProcessExit,
	ProcessSpec,
	StartedProcess,
	World,
} from "../world.ts";
import { formatLaunchMessage, shakeHands } from "./control-channel.ts";
import { fingerprint } from "./fingerprint.ts";
import type { StartGate } from "./start-gate.ts";
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
		const { adapter, world, options } = this.#setting;
		const { seat, ref } = worker;
		const { clock, emit } = world;
		const begunAt = clock.now();
		emit({
			type: "worker.starting",
			wallMs: clock.wall(),
			...ref,
			attempt,
			replaces,
		});
		if (worker.state !== "starting") throw withdrawn(seat);

		const spec = adapter.launch(seat);
		const usesControl = spec.launchPayload !== undefined;
		world.registry.reserve({
			incarnation: seat.incarnation,
			workerId: seat.workerId,
			pool: seat.pool,
			fingerprint: fingerprint(spec),
			files: [seat.directory],
		});

		let process: StartedProcess;
		let lifeline:
			| Awaited<ReturnType<typeof world.host.listenLifeline>>
			| undefined;
		try {
			world.host.createDirectory(seat.directory);
			lifeline = usesControl
				? await world.host.listenLifeline(join(seat.directory, "l"))
				: undefined;
			process = await world.host.source.start(
				this.#processSpec(seat, spec),
				(identity) =>
					world.registry.activate(seat.incarnation, identity, identity.pid),
			);
		} catch (error) {
			lifeline?.close();
			world.host.remove([seat.directory]);
			world.registry.end(seat.incarnation, {
				exit: undefined,
				reason: "start_failed",
				killer: "none",
			});
			throw error;
		}
		const spawnedAt = clock.now();
		const ownsStdout = spec.stdio !== "adapter";
		const output = new WorkerOutput(
			process,
			ownsStdout,
			ref,
			options.output,
			world,
		);
		worker.attach({
			process,
			output,
			lifeline,
			dumpSignal: spec.dumpSignal,
			files: [seat.directory],
		});
		emit({
			type: "worker.spawned",
			wallMs: clock.wall(),
			...ref,
			pid: process.identity.pid,
			source: world.host.source.name,
		});

		const token = world.random.token();
		const abort = new AbortController();
		try {
			const { ready, connection, launchedAt } = await this.#untilReady(
				worker,
				process,
				abort,
				async () => {
					const ready =
						process.control === undefined
							? undefined
							: await shakeHands(
									process.control,
									seat.workerId,
									formatLaunchMessage(
										seat,
										lifeline?.path ?? "",
										token,
										spec.launchPayload,
									),
								);
					const launchedAt = clock.now();
					const connection = await adapter.connect(
						this.#processFor(worker, process, ready, token, ownsStdout),
						abort.signal,
					);
					return { ready, connection, launchedAt };
				},
			);
			if (!worker.becameReady(connection)) throw withdrawn(seat);
			const readyAt = clock.now();
			emit({
				type: "worker.ready",
				wallMs: clock.wall(),
				...ref,
				pid: process.identity.pid,
				durationMs: readyAt - begunAt,
				phases: {
					spawnMs: spawnedAt - begunAt,
					launchMs: launchedAt - spawnedAt,
					connectMs: readyAt - launchedAt,
				},
				ready,
			});
		} catch (error) {
			abort.abort(error);
			worker.condemn(
				"start_failed",
				error instanceof Error ? error.message : String(error),
			);
			await output.lastLines();
			throw explained(error, worker);
		}
	}

	/** The steps after the spawn, against the end of the process and the deadline. Whatever loses is told by the signal. */
	async #untilReady<T extends { readonly connection: Connection }>(
		worker: Worker,
		process: StartedProcess,
		abort: AbortController,
		steps: () => Promise<T>,
	): Promise<T> {
		const { timeoutMs } = this.#setting.options.start;
		const race = Promise.withResolvers<never>();
		const timer = this.#setting.world.clock.after(timeoutMs, () =>
			race.reject(
				new StartError({
					code: "START_TIMEOUT",
					ran: "no",
					message: `Worker ${worker.seat.workerId} (pid ${process.identity.pid}) was not ready within ${timeoutMs} ms (start.timeoutMs).`,
				}),
			),
		);
		void process.exited.then((exit) =>
			race.reject(exitedEarly(worker, process, exit)),
		);
		const going = steps();
		// A connection that is made after the race was lost belongs to nobody: close it.
		going
			.then(
				async ({ connection }) => {
					if (abort.signal.aborted) await connection[Symbol.asyncDispose]();
				},
				() => {},
			)
			.catch(() => {});
		try {
			return await Promise.race([going, race.promise]);
		} catch (error) {
			// A channel that closes announces an exit: the exit says more.
			if (error instanceof StartError && error.code === "WORKER_EXITED_EARLY")
				throw await this.#exitOr(error, worker, process);
			throw error;
		} finally {
			timer.cancel();
			race.promise.catch(() => {});
		}
	}

	async #exitOr(
		error: StartError,
		worker: Worker,
		process: StartedProcess,
	): Promise<StartError> {
		return await new Promise((resolve) => {
			const timer = this.#setting.world.clock.after(EXIT_PATIENCE_MS, () =>
				resolve(error),
			);
			void process.exited.then((exit) => {
				timer.cancel();
				resolve(exitedEarly(worker, process, exit));
			});
		});
	}

	#processSpec(seat: Seat, spec: LaunchSpec): ProcessSpec {
		const env: Record<string, string> = {};
		for (const [name, value] of Object.entries({
			...this.#setting.environment,
			...spec.env,
		})) {
			if (value !== undefined) env[name] = value;
		}
		env[MARKER_VARIABLE] = this.#setting.marker;
		env[INCARNATION_VARIABLE] = seat.incarnation;
		return {
			executable: spec.executable,
			args: spec.args,
			env,
			cwd: spec.cwd,
			stdin: spec.stdio === "adapter" ? "pipe" : "empty",
			control: spec.launchPayload !== undefined,
		};
	}

	#processFor(
		worker: Worker,
		process: StartedProcess,
		ready: unknown,
		token: string,
		ownsStdout: boolean,
	): WorkerProcess {
		const { world } = this.#setting;
		return {
			seat: worker.seat,
			pid: process.identity.pid,
			ready,
			token,
			stdin: ownsStdout ? undefined : process.stdin,
			stdout: ownsStdout ? undefined : process.stdout,
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
	}
}

/** After the control channel closed, the exit follows at once unless the program only closed descriptor 3. */
const EXIT_PATIENCE_MS = 1_000;

function exitedEarly(
	worker: Worker,
	process: StartedProcess,
	exit: ProcessExit,
): StartError {
	const how =
		exit.kind === "code"
			? `exited with code ${exit.code}`
			: `was ended by ${exit.signal}`;
	return new StartError({
		code: "WORKER_EXITED_EARLY",
		ran: "no",
		message: `Worker ${worker.seat.workerId} (pid ${process.identity.pid}) ${how} before it was ready.`,
	});
}

function withdrawn(seat: Seat): StartError {
	return new StartError({
		code: "WORKER_EXITED_EARLY",
		ran: "no",
		message: `Worker ${seat.workerId} was told to go before it was ready: its pool is closing.`,
	});
}

/** The same error with the worker's last lines, which explain it most often. */
function explained(error: unknown, worker: Worker): Error {
	const words = worker.lastWords();
	if (error instanceof StartError) {
		return words === ""
			? error
			: new StartError({
					code: error.code,
					ran: "no",
					message: error.message + words,
					cause: error.cause,
				});
	}
	if (error instanceof SnakepitError) return error;
	return new StartError({
		code: "CONNECT_FAILED",
		ran: "no",
		message: `Worker ${worker.seat.workerId} started, but its adapter could not connect: ${error instanceof Error ? error.message : String(error)}${words}`,
		cause: error,
	});
}
