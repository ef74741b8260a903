import type { Connection } from "../contract/connection.ts";
import type { RetireReason, WorkerRef } from "../contract/events.ts";
import type { ProcessExit, ProcessIdentity } from "../contract/identity.ts";
import type { StartReport, WorkerSlot } from "../contract/launch.ts";
import type { EndReason } from "../contract/process-registry.ts";
import {
	stepWorker,
	type WorkerEffect,
	type WorkerOccurrence,
	type WorkerState,
} from "../contract/states.ts";
import type { World } from "../contract/world.ts";
import type { HeartbeatMonitor } from "../heartbeat/heartbeat-monitor.ts";
import { HeartbeatRounds } from "../heartbeat/heartbeat-rounds.ts";
import type { ResolvedOptions } from "../options/pool-options.ts";
import { outbox } from "../outbox.ts";
import type { StopManner } from "../process/stop-ladder.ts";
import type { TiedCompanion } from "./companion-tie.ts";
import { type EndCause, endReasonOf } from "./end-cause.ts";
import { RunningCalls } from "./running-calls.ts";
import { withdrawn } from "./start-errors.ts";
import {
	endOfConversation,
	impossibleStep,
	mannerOf,
	reportCondemned,
	reportRetiring,
} from "./worker-end.ts";
import { watchHeartbeat } from "./worker-heartbeat.ts";
import { outputLost } from "./worker-lost.ts";
import type { WorkerOutput } from "./worker-output.ts";
import type {
	Attempt,
	WorkerBelongings,
	WorkerListener,
} from "./worker-parts.ts";
import { settleWorker } from "./worker-settlement.ts";
import { WorkerStop } from "./worker-stop.ts";

/** One worker process from its spawn to its end: its state, conversation and calls. Moves only by the table in worker-state.ts. */
export class Worker {
	/** With the companion that it is tied to, once that is known. */
	slot: WorkerSlot;
	companion: TiedCompanion | undefined;
	readonly ref: WorkerRef;
	/** Those that it runs; one is added only where there is room for it. */
	readonly calls: RunningCalls = new RunningCalls();
	/** When it became ready, or the last of its calls ended. */
	freeSinceMs = 0;
	/** Aborted when its start fails, or it is stopped before it has a process. */
	readonly startAbort: AbortController = new AbortController();
	/** What its adapter waits for while it starts. */
	startReport: StartReport = {};
	readonly #options: ResolvedOptions;
	readonly #world: World;
	readonly #listener: WorkerListener;
	readonly #rounds: HeartbeatRounds;
	readonly #gone = Promise.withResolvers<void>();
	#state: WorkerState = "starting";
	#belongings: WorkerBelongings | undefined;
	/** While it can take calls, and a little longer. */
	connection: Connection | undefined;
	#heartbeat: HeartbeatMonitor | undefined;
	#readyAt: number | undefined;
	readonly #end: WorkerStop;
	#departure: Promise<void> | undefined;

	/** @param rounds of its pool; a worker alone has its own. */
	constructor(
		slot: WorkerSlot,
		options: ResolvedOptions,
		world: World,
		listener: WorkerListener,
		rounds: HeartbeatRounds = new HeartbeatRounds(world.clock),
	) {
		this.slot = slot;
		const { pool, workerId, incarnation } = slot;
		this.ref = { pool, workerId, incarnation };
		this.#options = options;
		this.#world = world;
		this.#listener = listener;
		this.#rounds = rounds;
		this.#end = new WorkerStop(this.ref, options.stop, world);
	}

	/** Resolves when it is gone, and its end is recorded and reported. */
	get gone(): Promise<void> {
		return this.#gone.promise;
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
	get heartbeat(): HeartbeatMonitor | undefined {
		return this.#heartbeat;
	}
	/** Why it ends, as a reason once that is decided, and in words. */
	get cause(): EndCause {
		return this.#end.cause;
	}
	get readyMs(): number {
		const now = this.#world.clock.now();
		return now - (this.#readyAt ?? now);
	}
	/** Whether it is being ended, or has ended: no call is sent to it any more. */
	get isLeft(): boolean {
		return this.#state === "stopping" || this.#state === "exited";
	}
	/** Whether it is about to end, or to be ended: with output that has ended, too. */
	get isEnding(): boolean {
		const { stdout } = this.#belongings?.conversation ?? {};
		return this.#state !== "ready" || stdout?.hasEnded === true;
	}
	/** Whether it takes new calls. With a cancelled call that has not ended it may be ended soon, with all that it runs. */
	get takesCalls(): boolean {
		const { stdout } = this.#belongings?.conversation ?? {};
		return (
			this.#state === "ready" &&
			stdout?.hasEnded !== true &&
			this.calls.cancelled === 0
		);
	}
	get hasCapacity(): boolean {
		const running = this.calls.attempts.length;
		return running < this.slot.callsPerWorker && this.takesCalls;
	}
	/** What it prints; `undefined` before its spawn. */
	get output(): WorkerOutput | undefined {
		return this.#belongings?.output;
	}

	/** The process is there: from now on its end is the end of the worker. */
	attach(belongings: WorkerBelongings): void {
		this.#belongings = belongings;
		const { process, conversation } = belongings;
		void process.exited.then((exit) => this.#processExited(belongings, exit));
		conversation.watch(
			() => outbox.during(() => this.#listener.capacityWithdrawn(this)),
			() =>
				this.conversationOver("it closed its standard output but still runs"),
		);
		if (this.#state === "stopping") this.#stop("forced"); // Stopped while it was spawned.
	}

	/** There will be no process: the start ended before the spawn. */
	neverSpawned(): void {
		this.#step("process_exited");
		this.#gone.resolve();
	}

	/** The first call can be taken. Returns false when it was stopped in the meantime. */
	becameReady(
		connection: Connection,
		identity: ProcessIdentity,
		report: () => void,
	): boolean {
		return outbox.during(() => this.#becameReady(connection, identity, report));
	}

	#becameReady(
		connection: Connection,
		identity: ProcessIdentity,
		report: () => void,
	): boolean {
		this.connection = connection;
		const inTime = this.#state === "starting";
		if (inTime) {
			this.#readyAt = this.#world.clock.now();
			this.freeSinceMs = this.#readyAt;
			this.#heartbeat = watchHeartbeat(
				this,
				identity,
				connection,
				this.#options.heartbeat,
				this.#world,
				this.#rounds,
			);
			report(); // Calls may be waiting: it is reported before they begin.
			this.#listener.becameReady(this);
		}
		this.#step("became_ready");
		return inTime;
	}

	/** The call has ended and its slot is free. */
	finish(attempt: Attempt): void {
		if (!this.calls.remove(attempt)) return;
		this.freeSinceMs = this.#world.clock.now();
		if (this.#state === "ready") this.#listener.capacityOffered(this);
		else this.#stopWhenDrained();
	}

	/** Takes no more calls, finishes those it has, and then leaves. */
	retire(reason: RetireReason): void {
		if (this.#state !== "starting" && this.#state !== "ready") return;
		outbox.during(() => {
			this.#end.cause.presume(endReasonOf(reason));
			reportRetiring(this, reason, this.#world);
			this.#step("retire");
			this.#stopWhenDrained();
		});
	}

	/** Is ended now; its calls are lost. */
	condemn(reason: EndReason, verdict: string): void {
		const occurrence = reason === "start_failed" ? reason : "condemn";
		this.#mustGo(occurrence, reason, verdict, mannerOf(reason));
	}

	/** No call can be answered any more. Expected of a worker that leaves, the end of any other. */
	conversationOver(why: string): void {
		this.calls.noteAnswers();
		const { reason, manner } = endOfConversation(
			this.#state,
			this.cause.reason,
			this.#belongings?.conversation.stdout?.hasEnded === true,
		);
		const verdict = `its conversation broke: ${why}`;
		this.#mustGo("conversation_over", reason, verdict, manner);
	}

	#mustGo(
		occurrence: WorkerOccurrence,
		reason: EndReason,
		verdict: string,
		manner: StopManner,
	): void {
		if (this.#state === "exited") return;
		outbox.during(() => {
			this.#end.manner = manner;
			if (this.#end.cause.condemn(this.#state, reason, verdict))
				reportCondemned(this, reason, this.#world);
			this.#step(occurrence);
		});
	}

	/** Kills the group at once, in this very turn. For the exit of the host. */
	killNow(): void {
		if (this.#state !== "exited") this.#end.killNow(this.#belongings?.process);
	}

	#step(occurrence: WorkerOccurrence): void {
		const step = stepWorker(this.#state, occurrence);
		if (step.kind === "stay") return;
		if (step.kind === "impossible") throw impossibleStep(this, occurrence);
		this.#state = step.to;
		for (const effect of step.effects) this.#carryOut(effect);
	}

	#stopWhenDrained(): void {
		if (this.#state === "draining" && this.calls.attempts.length === 0)
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
				this.#stop(this.#end.manner);
				break;
			case "release":
				this.#heartbeat?.stop();
		}
	}

	#stop(manner: StopManner): void {
		this.#heartbeat?.stop();
		const belongings = this.#belongings;
		if (belongings === undefined) {
			this.startAbort.abort(withdrawn(this)); // See also attach().
			return;
		}
		if (manner === "dumped") belongings.output.expectStacks();
		// If it runs on, a call that gets no answer need not wait for its end.
		if (manner === "ending")
			void this.calls.loseUnanswered(
				belongings.process,
				this.#world.clock,
				() => outputLost(this),
			);
		const outcome = this.#end.climb(belongings, this.connection, manner);
		void outcome.then(({ gone }) => {
			if (!gone) this.#departure ??= this.#settle(belongings, undefined);
		});
	}

	#processExited(belongings: WorkerBelongings, exit: ProcessExit): void {
		outbox.during(() => {
			this.#end.cause.exitedIn(this.#state);
			this.#step("process_exited");
			this.#departure ??= this.#settle(belongings, exit);
		});
	}

	async #settle(
		belongings: WorkerBelongings,
		exit: ProcessExit | undefined,
	): Promise<void> {
		const own = { calls: this.calls, end: this.#end };
		const parts = { belongings, ...own, listener: this.#listener };
		await settleWorker(this, parts, exit, this.#world);
		this.#gone.resolve();
	}
}
