import type { Connection, Seat } from "../adapter.ts";
import { SnakepitError } from "../errors.ts";
import type { HeartbeatMonitor } from "../heartbeat/heartbeat-monitor.ts";
import { HeartbeatRounds } from "../heartbeat/heartbeat-rounds.ts";
import type { ProcessIdentity } from "../identity.ts";
import type { ResolvedOptions } from "../options.ts";
import type { RetireReason, WorkerRef } from "../pool-events.ts";
import type { EndReason } from "../registry/process-registry.ts";
import {
	stepWorker,
	type WorkerEffect,
	type WorkerOccurrence,
	type WorkerState,
} from "../worker-state.ts";
import type { ProcessExit, World } from "../world.ts";
import { EndCause, endReasonOf } from "./end-cause.ts";
import {
	mannerOf,
	StopLadder,
	type StopManner,
	type StopTarget,
} from "./stop-ladder.ts";
import { closeBooks, hangUp } from "./worker-end.ts";
import { watchHeartbeat } from "./worker-heartbeat.ts";
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
	readonly #rounds: HeartbeatRounds;
	readonly #attempts = new Set<Attempt>();
	readonly #resolveGone: () => void;
	#state: WorkerState = "starting";
	#belongings: WorkerBelongings | undefined;
	#connection: Connection | undefined;
	#heartbeat: HeartbeatMonitor | undefined;
	#readyAt: number | undefined;
	#callsTaken = 0;
	readonly #cause = new EndCause();
	readonly #ladder: StopLadder;
	#departure: Promise<void> | undefined;

	/** @param rounds of its pool; a worker alone has its own. */
	constructor(
		seat: Seat,
		options: ResolvedOptions,
		world: World,
		listener: WorkerListener,
		rounds: HeartbeatRounds = new HeartbeatRounds(world.clock),
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
		this.#rounds = rounds;
		this.#ladder = new StopLadder(options.stop.killAfterMs, world);
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
	/** Why it goes, once that is decided. */
	get reason(): EndReason | undefined {
		return this.#cause.reason;
	}
	/** The same in words; empty when nobody condemned it. */
	get verdict(): string {
		return this.#cause.verdict;
	}
	get callsRunning(): number {
		return this.#attempts.size;
	}
	/** The id of the one call that runs; `undefined` when there is none, or several. */
	get onlyCall(): string | undefined {
		if (this.#attempts.size !== 1) return undefined;
		const [attempt] = this.#attempts;
		return attempt?.callId;
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
		void belongings.process.exited.then((exit) =>
			this.#processExited(belongings, exit),
		);
		if (this.#state === "stopping") this.#stop("forced"); // Told to go while it was spawned.
	}

	/** There will be no process: the start ended before the spawn. */
	neverSpawned(): void {
		this.#step("process_exited");
		this.#resolveGone();
	}

	/** The first call can be taken. Returns false when it was told to go in the meantime. */
	becameReady(
		connection: Connection,
		identity: ProcessIdentity,
		tell: () => void,
	): boolean {
		this.#connection = connection;
		const inTime = this.#state === "starting";
		if (inTime) {
			this.#readyAt = this.#world.clock.now();
			this.#heartbeat = watchHeartbeat(
				this,
				identity,
				connection,
				this.#options.heartbeat,
				this.#world,
				this.#rounds,
			);
			tell(); // Calls may be waiting: the news comes before they begin.
		}
		this.#step("became_ready");
		return inTime;
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
	retire(reason: RetireReason): void {
		if (this.#state !== "starting" && this.#state !== "ready") return;
		this.#cause.presume(endReasonOf(reason));
		const { clock, emit } = this.#world;
		const wallMs = clock.wall();
		emit({ type: "worker.retiring", wallMs, ...this.ref, reason });
		this.#step("retire");
		this.#stopWhenDrained();
	}

	/** Has to go now; its calls are lost. */
	condemn(reason: EndReason, verdict: string): void {
		if (this.#state === "exited") return;
		// Told by the conversation and by each call on it: to hear it again is no reason to hurry.
		if (reason === "broken" && this.reason === "broken") return;
		if (this.#cause.condemn(this.#state, reason, verdict)) {
			this.#world.emit({
				type: "worker.condemned",
				wallMs: this.#world.clock.wall(),
				...this.ref,
				reason,
				message: verdict,
			});
		}
		this.#step(reason === "start_failed" ? "start_failed" : "condemn");
	}

	/** Kills the group at once, in this very turn. For the exit of the host. */
	killNow(): void {
		if (this.#state === "exited") return;
		this.#cause.presume("host_exit");
		const sent = this.#belongings?.process.signal("SIGKILL", "group");
		if (sent === "sent") this.#cause.killedBy("application_cleanup");
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
				this.#stop(mannerOf(this.reason));
				break;
			case "release":
				this.#heartbeat?.stop();
		}
	}

	#stop(manner: StopManner): void {
		this.#heartbeat?.stop();
		const belongings = this.#belongings;
		if (belongings === undefined) return; // The starter sees the state; see also attach().
		if (manner === "dumped") belongings.output.expectStacks();
		const target = this.#stopTarget(belongings);
		void this.#ladder.climb(target, manner).then(({ gone }) => {
			if (!gone) this.#departure ??= this.#settle(belongings, undefined);
		});
	}

	#stopTarget(belongings: WorkerBelongings): StopTarget {
		return { ref: this.ref, connection: this.#connection, ...belongings };
	}

	#processExited(belongings: WorkerBelongings, exit: ProcessExit): void {
		if (this.#state === "starting") this.#cause.presume("start_failed");
		// It had calls, and was not asked yet: that is no end in order.
		if (this.#state === "draining") this.#cause.surprise();
		this.#step("process_exited");
		this.#departure ??= this.#settle(belongings, exit);
	}

	/** Its end was seen, or will not be: everything that waits for it is told. */
	async #settle(
		belongings: WorkerBelongings,
		exit: ProcessExit | undefined,
	): Promise<void> {
		const target = this.#stopTarget(belongings);
		const { signalled } = await this.#ladder.finish(target);
		const killer = this.#cause.conclude(signalled);
		await belongings.output.lastLines();
		const lost = [...this.#attempts];
		this.#attempts.clear();
		for (const attempt of lost) attempt.lost(workerLost(this, exit));
		const reason = this.reason ?? "exited";
		const facts = { exit, reason, killer, callsLost: lost.length };
		closeBooks(this, belongings, facts, this.#world);
		this.#listener.released(this, { reason, exit, readyMs: this.readyMs });
		await hangUp(this.#connection, this.#world.clock);
		this.#resolveGone();
	}
}
