import type { Connection } from "../contract/connection.ts";
import { SnakepitError } from "../contract/errors.ts";
import type { RetireReason, WorkerRef } from "../contract/events.ts";
import type { ProcessExit, ProcessIdentity } from "../contract/identity.ts";
import type {
	StartReport,
	WorkerProcess,
	WorkerSlot,
} from "../contract/launch.ts";
import type { EndReason, WorkerEnd } from "../contract/process-registry.ts";
import {
	stepWorker,
	type WorkerEffect,
	type WorkerState,
	type WorkerTrigger,
} from "../contract/run-and-worker-states.ts";
import { lastCharacters } from "../contract/telling-lines.ts";
import type { World } from "../contract/world.ts";
import { withDeadline } from "../deadline.ts";
import {
	HeartbeatMonitor,
	HeartbeatRounds,
} from "../heartbeat/heartbeat-monitor.ts";
import type { ResolvedOptions } from "../options/pool-options.ts";
import { outbox } from "../outbox.ts";
import { TAIL_CHARACTERS } from "../process/output.ts";
import { type OwnedProcess, recordEnd } from "../process/owned-process.ts";
import { killerByKernel, lostParentOf } from "../process/process-end.ts";
import { StopLadder, type StopManner } from "../process/stop-ladder.ts";
import {
	noteCompanionLost,
	noteParentLost,
	type TiedCompanion,
} from "./companion-loss.ts";
import { EndCause } from "./end-cause.ts";
import { type Attempt, type Conduct, RunningCalls } from "./running-calls.ts";
import { outputLost, withdrawn, workerLost } from "./worker-errors.ts";
import type { ConversationOutput, WorkerOutput } from "./worker-output.ts";
import type { StacksOnRequest } from "./worker-stacks.ts";

/** What a worker reports to its pool. */
export interface WorkerListener {
	/** It has started, and is about to offer what it can take. */
	becameReady(worker: Worker): void;
	/** It can take calls. */
	capacityOffered(worker: Worker): void;
	/** It takes no new calls. */
	capacityWithdrawn(worker: Worker): void;
	/** It is gone, and its end is recorded and reported. */
	released(worker: Worker, ending: WorkerEnding): void;
}

export interface WorkerEnding {
	readonly reason: EndReason;
	/** How long it was ready, in milliseconds; 0 when it never was. */
	readonly readyMs: number;
	/** Its process, if it was sent SIGKILL and did not end. */
	readonly undying?: ProcessIdentity;
}

/** What was made for a worker and is removed with it. */
export interface WorkerResources extends OwnedProcess {
	readonly output: WorkerOutput;
	readonly conversation: ConversationOutput;
	readonly dumpSignal: NodeJS.Signals | undefined;
	/** `undefined` if the program cannot write its stacks and go on. */
	readonly stacks: StacksOnRequest | undefined;
	/** See `PoolInstrument.unobserved`. */
	readonly unobserved?: WorkerProcess["unobserved"];
}

/** What workers say at these ends explains nothing. */
const IN_ORDER: readonly EndReason[] = ["closed", "recycled"];

/** An adapter that does not close its connection must not hold up the end of a pool. */
const HANG_UP_MS = 1_000;

/** One worker process from its spawn to its end: its state, conversation and calls. Moves only by the table in states.ts. */
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
	#resources: WorkerResources | undefined;
	/** While it can take calls, and a little longer. */
	connection: Connection | undefined;
	#heartbeat: HeartbeatMonitor | undefined;
	#readyAt: number | undefined;
	/** Why it ends, as a reason once that is decided, and in words. */
	readonly cause: EndCause = new EndCause();
	readonly #ladder: StopLadder;
	/** How it is stopped if it is condemned. */
	#manner: StopManner = "forced";
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
		const { clock, emit } = world;
		const { ref } = this;
		this.#ladder = new StopLadder(options.stop, world, {
			signalled: (signal) => this.cause.signalled(signal, "stop_ladder"),
			stepped: (step, sent) =>
				emit({
					...{ type: "worker.stop_step", wallMs: clock.wall(), ...ref },
					...{ step, sent },
				}),
			spared: (groupId, pids) =>
				emit({
					...{ type: "worker.group_spared", wallMs: clock.wall(), ...ref },
					...{ groupId, pids },
				}),
		});
	}

	/** Resolves when it is gone, and its end is recorded and reported. */
	get gone(): Promise<void> {
		return this.#gone.promise;
	}
	get state(): WorkerState {
		return this.#state;
	}
	get pid(): number | undefined {
		return this.#resources?.process.identity.pid;
	}
	get groupId(): number | undefined {
		return this.#resources?.process.groupId;
	}
	get heartbeat(): HeartbeatMonitor | undefined {
		return this.#heartbeat;
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
		const { stdout } = this.#resources?.conversation ?? {};
		return this.#state !== "ready" || stdout?.hasEnded === true;
	}
	/** Whether it takes one more call. With a cancelled one that has not ended it may be ended soon, with all that it runs. */
	get hasCapacity(): boolean {
		const { attempts, cancelled } = this.calls;
		return (
			attempts.length < this.slot.callsPerWorker &&
			cancelled === 0 &&
			!this.isEnding
		);
	}
	/** Writes its stacks on request; `undefined` if it cannot, or before its spawn. */
	get stacks(): StacksOnRequest | undefined {
		return this.#resources?.stacks;
	}
	/** What it prints; `undefined` before its spawn. */
	get output(): WorkerOutput | undefined {
		return this.#resources?.output;
	}

	/** The process is there: from now on its end is the end of the worker. */
	attach(resources: WorkerResources): void {
		this.#resources = resources;
		const { process, conversation } = resources;
		void process.exited.then((exit) => this.#processExited(resources, exit));
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
			this.#heartbeat = this.#watch(identity, connection);
			report(); // Calls may be waiting: it is reported before they begin.
			this.#listener.becameReady(this);
		}
		this.#step("became_ready");
		return inTime;
	}

	/** The call has ended and its slot is free. Returns whether it may take another one. */
	finish(attempt: Attempt, conduct: Conduct): boolean {
		if (!this.calls.remove(attempt, conduct)) return false;
		this.freeSinceMs = this.#world.clock.now();
		if (this.#state === "ready") return true;
		this.#stopWhenDrained();
		return false;
	}

	/** Takes no more calls, finishes those it has, and then leaves. */
	retire(reason: RetireReason): void {
		if (this.#state !== "starting" && this.#state !== "ready") return;
		outbox.during(() => {
			this.cause.retired(reason, this.#options.recycle);
			const { clock, emit } = this.#world;
			const wallMs = clock.wall();
			emit({ type: "worker.retiring", wallMs, ...this.ref, reason });
			this.#step("retire");
			this.#stopWhenDrained();
		});
	}

	/** Is ended now; its calls are lost. */
	condemn(reason: EndReason, verdict: string): void {
		const trigger = reason === "start_failed" ? reason : "condemn";
		this.#mustGo(trigger, reason, verdict, mannerOf(reason));
	}

	/** No call can be answered any more. Expected of a worker that leaves, the end of any other. */
	conversationOver(why: string): void {
		this.calls.noteAnswers();
		const { reason, manner } = endOfConversation(
			this.#state,
			this.cause.reason,
			this.#resources?.conversation.stdout?.hasEnded === true,
		);
		const verdict = `its conversation broke: ${why}`;
		this.#mustGo("conversation_over", reason, verdict, manner);
	}

	#mustGo(
		trigger: WorkerTrigger,
		reason: EndReason,
		verdict: string,
		manner: StopManner,
	): void {
		if (this.#state === "exited") return;
		outbox.during(() => {
			this.#manner = manner;
			if (this.cause.condemn(this.#state, reason, verdict)) {
				const { clock, emit } = this.#world;
				const about = { reason, message: this.cause.verdict };
				const wallMs = clock.wall();
				emit({ type: "worker.condemned", wallMs, ...this.ref, ...about });
			}
			this.#step(trigger);
		});
	}

	/** Kills the group in this turn of the event loop, for the exit of the host. */
	killNow(): void {
		if (this.#state === "exited") return;
		this.cause.presume("host_exit");
		const process = this.#resources?.process;
		if (process?.signal("SIGKILL", "group") === "sent")
			this.cause.signalled("SIGKILL", "application_cleanup");
	}

	#step(trigger: WorkerTrigger): void {
		const step = stepWorker(this.#state, trigger);
		if (step.kind === "stay") return;
		if (step.kind === "impossible") throw this.#impossible(trigger);
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
				this.#stop(this.#manner);
				break;
			case "release":
				this.#heartbeat?.stop();
		}
	}

	#stop(manner: StopManner): void {
		this.#heartbeat?.stop();
		const resources = this.#resources;
		if (resources === undefined) {
			this.startAbort.abort(withdrawn(this)); // See also attach().
			return;
		}
		if (manner === "dumped") resources.output.expectStacks();
		// If it runs on, a call that gets no answer need not wait for its end.
		if (manner === "ending")
			void this.calls.loseUnanswered(resources.process, this.#world.clock, () =>
				outputLost(this),
			);
		const target = { connection: this.connection, ...resources };
		const outcome = this.#ladder.climb(target, manner);
		void outcome.then(({ gone }) => {
			if (!gone) this.#departure ??= this.#settle(resources, undefined);
		});
	}

	#processExited(resources: WorkerResources, exit: ProcessExit): void {
		outbox.during(() => {
			this.cause.exitedIn(this.#state);
			this.#step("process_exited");
			this.#departure ??= this.#settle(resources, exit);
		});
	}

	/**
	 * Its end was seen, or will not be: ends its group and its calls, removes what was made for it, and notifies everything
	 * that waits for it.
	 *
	 * @param exit `undefined` when it was sent SIGKILL and cannot die.
	 */
	async #settle(
		resources: WorkerResources,
		exit: ProcessExit | undefined,
	): Promise<void> {
		const { clock } = this.#world;
		const { calls, cause, connection } = this;
		const { process, output, conversation } = resources;
		await this.#ladder.finish({ connection, ...resources });
		const concluded = cause.conclude(exit, lostParentOf(process));
		const { killer, evidence, note } = await killerByKernel(
			...([concluded, exit, process.identity, this.#world.host] as const),
		);
		if (evidence !== undefined) cause.outOfMemory(evidence);
		if (note !== undefined) cause.noted(note);
		// What it printed and answered before its end is read, or will not be.
		await output.lastLines();
		await calls.lastAnswers(clock, conversation);
		noteParentLost(this, process);
		if (this.companion !== undefined) await noteCompanionLost(this, exit);
		outbox.during(() => {
			calls.lose(() => workerLost(this, exit));
			const reason = cause.reason ?? "exited";
			this.#reportEnd(resources, { exit, reason, killer });
			this.#listener.released(this, {
				...{ reason, readyMs: this.readyMs },
				...(exit === undefined && { undying: process.identity }),
			});
		});
		try {
			const deadline = { clock, ms: HANG_UP_MS };
			const hungUp = connection?.[Symbol.asyncDispose]();
			if (hungUp !== undefined) await withDeadline(hungUp, deadline, () => {});
		} catch {
			// There is nothing left that it could still harm.
		}
		this.#gone.resolve();
	}

	/** Removes what was made for it, records its end, and reports it. */
	#reportEnd(
		resources: WorkerResources,
		end: Pick<WorkerEnd, "exit" | "reason" | "killer">,
	): void {
		const { process, output } = resources;
		const { lost: callsLost, lastCommand } = this.calls;
		output.close();
		const tail = output.tail.lines();
		const explains = !IN_ORDER.includes(end.reason) && {
			tail: lastCharacters(tail, TAIL_CHARACTERS),
			lastCommand,
		};
		const detail = end.reason === "closed" ? undefined : this.cause.detail;
		const { incarnation } = this.ref;
		recordEnd(
			resources,
			incarnation,
			{ ...end, ...explains, detail },
			this.#world,
		);
		const { clock, emit } = this.#world;
		emit({
			...{ type: "worker.exited", wallMs: clock.wall(), ...this.ref, ...end },
			...{ pid: process.identity.pid, callsLost },
			...{ lifetimeMs: this.readyMs, tail },
		});
	}

	/** Condemns it when it hangs; nothing with the heartbeat off. */
	#watch(
		identity: ProcessIdentity,
		connection: Connection,
	): HeartbeatMonitor | undefined {
		const options = this.#options.heartbeat;
		if (options === "off") return undefined;
		const { unobserved } = this.#resources ?? {};
		const ping = connection.ping?.bind(connection);
		return new HeartbeatMonitor({
			...{ ref: this.ref, identity, options },
			...{ world: this.#world, rounds: this.#rounds },
			ping:
				ping === undefined || unobserved === undefined
					? ping
					: (signal) => unobserved(() => ping(signal)),
			usage: connection.usage?.bind(connection),
			onHung: (silentMs, cause) =>
				this.condemn(
					"hung",
					cause === "idle"
						? `it has not answered for ${Math.round(silentMs)} ms and used no processor time (heartbeat.hungAfterMs)`
						: `it has used the processor for ${Math.round(silentMs)} ms without answering (heartbeat.busyLimitMs)`,
				),
		});
	}

	#impossible(trigger: WorkerTrigger): SnakepitError {
		return new SnakepitError({
			code: "IMPOSSIBLE_TRANSITION",
			ran: "maybe",
			message: `Worker ${this.ref.workerId} was ${this.#state} when ${trigger} happened. This is a defect in Snakepit: please report it.`,
		});
	}
}

/** How a condemned worker is ended. */
export function mannerOf(reason: EndReason | undefined): StopManner {
	if (reason === "hung") return "dumped";
	return reason === "broken" ? "waiting" : "forced";
}

/** What the end of its conversation means for a worker. */
export function endOfConversation(
	state: WorkerState,
	decided: EndReason | undefined,
	hasEndedOutput: boolean,
): { readonly reason: EndReason; readonly manner: StopManner } {
	if (state === "starting")
		return { reason: "start_failed", manner: mannerOf("start_failed") };
	const leaves = state === "draining" && decided === "exited";
	// It ends in order, perhaps: it may have something left to save.
	const manner = leaves || hasEndedOutput ? "ending" : mannerOf("broken");
	return { reason: "broken", manner };
}
