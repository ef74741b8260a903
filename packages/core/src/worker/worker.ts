import type { Connection, Seat } from "../adapter.ts";
import { SnakepitError } from "../errors.ts";
import type { RecycleReason, WorkerRef } from "../events.ts";
import { HeartbeatMonitor } from "../heartbeat/heartbeat-monitor.ts";
import type { ResolvedOptions } from "../options.ts";
import type { EndReason } from "../registry/process-registry.ts";
import {
	stepWorker,
	type WorkerEffect,
	type WorkerOccurrence,
	type WorkerState,
} from "../worker-state.ts";
import type { ProcessExit, StartedProcess, World } from "../world.ts";
import { stopWorker } from "./stop-ladder.ts";
import { workerLost } from "./worker-lost.ts";
import type {
	Attempt,
	WorkerBelongings,
	WorkerListener,
} from "./worker-parts.ts";

/**
 * One worker process from its spawn to its end: holds its state, its
 * conversation and its calls. Moves only by the table in worker-state.ts.
 */
export class Worker {
	readonly seat: Seat;
	readonly ref: WorkerRef;
	/** Resolves when it is gone, recorded and told. */
	readonly gone: Promise<void>;
	readonly #options: ResolvedOptions;
	readonly #world: World;
	readonly #listener: WorkerListener;
	readonly #attempts = new Set<Attempt>();
	readonly #resolveGone: () => void;
	#state: WorkerState = "starting";
	#belongings: WorkerBelongings | undefined;
	#connection: Connection | undefined;
	#heartbeat: HeartbeatMonitor | undefined;
	#readyAt: number | undefined;
	#callsTaken = 0;
	/** Why it goes, once that is decided. */
	#reason: EndReason | undefined;
	#verdict = "";
	#stopping: Promise<{ readonly signalled: boolean }> | undefined;

	constructor(
		seat: Seat,
		options: ResolvedOptions,
		world: World,
		listener: WorkerListener,
	) {
		this.seat = seat;
		this.ref = {
			pool: seat.pool,
			workerId: seat.workerId,
			incarnation: seat.incarnation,
		};
		this.#options = options;
		this.#world = world;
		this.#listener = listener;
		const gone = Promise.withResolvers<void>();
		this.gone = gone.promise;
		this.#resolveGone = gone.resolve;
	}

	get state(): WorkerState {
		return this.#state;
	}
	get pid(): number | undefined {
		return this.#belongings?.process.identity.pid;
	}
	get groupId(): number | undefined {
		return this.#belongings?.process.groupId;
	}
	get connection(): Connection | undefined {
		return this.#connection;
	}
	get heartbeat(): HeartbeatMonitor | undefined {
		return this.#heartbeat;
	}
	get callsRunning(): number {
		return this.#attempts.size;
	}
	get callsTaken(): number {
		return this.#callsTaken;
	}
	get readyMs(): number {
		return this.#readyAt === undefined
			? 0
			: this.#world.clock.now() - this.#readyAt;
	}
	get hasCapacity(): boolean {
		return (
			this.#state === "ready" && this.#attempts.size < this.seat.callsPerWorker
		);
	}
	tail(): readonly string[] {
		return this.#belongings?.output.tail.lines() ?? [];
	}
	/** Resolves when what it printed so far was read. */
	async lastLines(): Promise<void> {
		await this.#belongings?.output.lastLines();
	}
	/** The last lines as a paragraph of an error message. */
	lastWords(): string {
		return this.#belongings?.output.tail.paragraph() ?? "";
	}

	/** The process is there: from now on its end is the end of the worker. */
	attach(belongings: WorkerBelongings): void {
		this.#belongings = belongings;
		void belongings.process.exited.then((exit) => this.#processExited(exit));
		// It was told to go while it was being spawned.
		if (this.#state === "stopping") this.#stop("forced");
	}

	/** There will be no process: the start ended before the spawn. */
	neverSpawned(): void {
		this.#step("process_exited");
		this.#resolveGone();
	}

	/** The first call can be taken. Returns false when it was told to go in the meantime. */
	becameReady(connection: Connection): boolean {
		this.#connection = connection;
		if (this.#state === "starting") this.#readyAt = this.#world.clock.now();
		this.#step("became_ready");
		if (this.#state !== "ready") return false;
		if (this.#options.heartbeat !== "off") {
			this.#heartbeat = new HeartbeatMonitor({
				ref: this.ref,
				identity: this.#process.identity,
				ping: connection.ping?.bind(connection),
				options: this.#options.heartbeat,
				world: this.#world,
				onHung: (silentMs) => this.#hung(silentMs),
			});
		}
		return true;
	}

	/** Takes a call; there must be room for it. */
	begin(attempt: Attempt): void {
		this.#attempts.add(attempt);
		this.#callsTaken++;
	}

	/** The call is over and its slot is free. */
	finish(attempt: Attempt): void {
		if (!this.#attempts.delete(attempt)) return;
		if (this.#state === "ready") this.#listener.capacityOffered(this);
		else this.#stopWhenDrained();
	}

	/** Takes no more calls, finishes those it has, and then leaves. */
	retire(reason: RecycleReason | "closed" | "idle"): void {
		if (this.#state !== "starting" && this.#state !== "ready") return;
		this.#reason ??= reason === "closed" ? "closed" : "recycled";
		this.#emit({ type: "worker.retiring", reason });
		this.#step("retire");
		this.#stopWhenDrained();
	}

	/** Has to go now; its calls are lost. */
	condemn(reason: EndReason, verdict: string): void {
		if (this.#state === "exited") return;
		if (this.#reason === undefined || this.#state !== "stopping") {
			this.#reason = reason;
			this.#verdict = verdict;
			this.#emit({ type: "worker.condemned", reason, message: verdict });
		}
		this.#step(reason === "start_failed" ? "start_failed" : "condemn");
	}

	/** Kills the group at once, in this very turn. For the exit of the host. */
	killNow(): void {
		if (this.#state === "exited") return;
		this.#reason ??= "host_exit";
		this.#belongings?.process.signal("SIGKILL", "group");
	}

	get #process(): StartedProcess {
		if (this.#belongings === undefined)
			throw new TypeError(`${this.ref.workerId} has no process`);
		return this.#belongings.process;
	}

	#step(occurrence: WorkerOccurrence): void {
		const step = stepWorker(this.#state, occurrence);
		if (step.kind === "stay") return;
		if (step.kind === "impossible") {
			throw new SnakepitError({
				code: "IMPOSSIBLE_TRANSITION",
				ran: "maybe",
				message: `Worker ${this.ref.workerId} was ${this.#state} when ${occurrence} happened. This is a defect in Snakepit: please report it.`,
			});
		}
		this.#state = step.to;
		for (const effect of step.effects) this.#carryOut(effect);
	}

	#stopWhenDrained(): void {
		if (this.#state === "draining" && this.#attempts.size === 0)
			this.#step("drained");
	}

	#carryOut(effect: WorkerEffect): void {
		switch (effect) {
			case "offer_capacity":
				this.#listener.capacityOffered(this);
				break;
			case "withdraw_capacity":
				this.#listener.capacityWithdrawn(this);
				break;
			case "begin_stop":
				this.#stop("gentle");
				break;
			case "force_stop":
				this.#stop("forced");
				break;
			case "release":
				this.#heartbeat?.stop();
		}
	}

	#stop(manner: "gentle" | "forced"): void {
		this.#heartbeat?.stop();
		if (this.#belongings === undefined) return; // The starter sees the state and starts nothing.
		if (this.#stopping !== undefined) {
			if (manner === "forced") this.#process.signal("SIGKILL", "group");
			return;
		}
		this.#stopping = stopWorker(
			{
				ref: this.ref,
				runId: this.seat.runId,
				process: this.#process,
				connection: this.#connection,
			},
			manner,
			this.#options.stop.killAfterMs,
			this.#world,
		);
	}

	#hung(silentMs: number): void {
		const { dumpSignal } = this.#belongings ?? {};
		const condemn = (): void =>
			this.condemn(
				"hung",
				`it has not answered for ${Math.round(silentMs)} ms (heartbeat.hungAfterMs)`,
			);
		if (dumpSignal === undefined) {
			condemn();
			return;
		}
		// Its stacks explain the hang; they come through standard error within this time or not at all.
		this.#process.signal(dumpSignal, "process");
		this.#world.clock.after(DUMP_MS, condemn);
	}

	async #processExited(exit: ProcessExit): Promise<void> {
		const belongings = this.#belongings;
		if (belongings === undefined) return;
		this.#step("process_exited");
		const stopped =
			this.#stopping ??
			stopWorker(
				{
					ref: this.ref,
					runId: this.seat.runId,
					process: belongings.process,
					connection: undefined,
				},
				"forced",
				0,
				quiet(this.#world),
			);
		await belongings.output.lastLines();
		const reason = this.#reason ?? "exited";
		const lost = [...this.#attempts];
		this.#attempts.clear();
		for (const attempt of lost)
			attempt.lost(workerLost(this, exit, this.#reason, this.#verdict));
		const { signalled } = await stopped;
		belongings.lifeline?.close();
		this.#world.host.remove(belongings.files);
		const killer =
			signalled && this.#stopping !== undefined ? "stop_ladder" : "none";
		this.#world.registry.end(this.ref.incarnation, { exit, reason, killer });
		this.#emit({
			type: "worker.exited",
			pid: belongings.process.identity.pid,
			exit,
			reason,
			killer,
			callsLost: lost.length,
			lifetimeMs: this.readyMs,
			tail: this.tail(),
		});
		await this.#dispose();
		this.#listener.released(this, { reason, exit, readyMs: this.readyMs });
		this.#resolveGone();
	}

	async #dispose(): Promise<void> {
		try {
			await this.#connection?.[Symbol.asyncDispose]();
		} catch {
			// The process is gone: there is nothing left that a conversation could still harm.
		}
	}

	#emit(
		event: DistributiveOmit<WorkerEvent, "wallMs" | keyof WorkerRef>,
	): void {
		this.#world.emit({
			...event,
			...this.ref,
			wallMs: this.#world.clock.wall(),
		} as WorkerEvent);
	}
}

const DUMP_MS = 250;

type WorkerEvent = Extract<import("../events.ts").SnakepitEvent, WorkerRef>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown
	? Omit<T, K>
	: never;

/** The sweep after a death that nobody ordered is no step of a ladder. */
function quiet(world: World): World {
	return { ...world, emit: () => {} };
}
