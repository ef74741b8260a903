import type { Clock } from "../contract/clock.ts";
import type { Connection } from "../contract/connection.ts";
import { SnakepitError } from "../contract/errors.ts";
import type { RetireReason, WorkerRef } from "../contract/events.ts";
import type { ProcessExit, ProcessIdentity } from "../contract/identity.ts";
import type { StartReport, WorkerSlot } from "../contract/launch.ts";
import type { EndReason, Killer } from "../contract/process-registry.ts";
import {
	stepWorker,
	type WorkerEffect,
	type WorkerOccurrence,
	type WorkerState,
} from "../contract/states.ts";
import type { World } from "../contract/world.ts";
import { withDeadline } from "../deadline.ts";
import {
	HeartbeatMonitor,
	HeartbeatRounds,
} from "../heartbeat/heartbeat-monitor.ts";
import type { ResolvedOptions } from "../options/pool-options.ts";
import { outbox } from "../outbox.ts";
import { lastCharacters } from "../process/output.ts";
import { type OwnedProcess, recordEnd } from "../process/owned-process.ts";
import { lostParentOf } from "../process/process-end.ts";
import {
	StopLadder,
	type StopManner,
	type StopOutcome,
	type StopPlan,
} from "../process/stop-ladder.ts";
import { EndCause, endReasonOf } from "./end-cause.ts";
import { type Attempt, RunningCalls } from "./running-calls.ts";
import { outputLost, withdrawn, workerLost } from "./worker-errors.ts";
import type { ConversationOutput, WorkerOutput } from "./worker-output.ts";
import {
	noteCompanionLost,
	noteParentLost,
	type TiedCompanion,
} from "./worker-ties.ts";

/** What a worker reports to its pool. */
export interface WorkerListener {
	/** It has started, and is about to offer what it can take. */
	becameReady(worker: Worker): void;
	/** It can take calls, or one more. */
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
export interface WorkerBelongings extends OwnedProcess {
	readonly output: WorkerOutput;
	readonly conversation: ConversationOutput;
	readonly dumpSignal: NodeJS.Signals | undefined;
}

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

/** Watches a worker that became ready, and condemns it when it hangs; nothing with the heartbeat off. */
function watchHeartbeat(
	worker: Worker,
	identity: ProcessIdentity,
	connection: Connection,
	options: ResolvedOptions["heartbeat"],
	world: World,
	rounds: HeartbeatRounds,
): HeartbeatMonitor | undefined {
	if (options === "off") return undefined;
	return new HeartbeatMonitor({
		ref: worker.ref,
		identity,
		ping: connection.ping?.bind(connection),
		usage: connection.usage?.bind(connection),
		options,
		world,
		rounds,
		onHung: (silentMs, cause) =>
			worker.condemn(
				"hung",
				cause === "idle"
					? `it has not answered for ${Math.round(silentMs)} ms and used no processor time (heartbeat.hungAfterMs)`
					: `it has used the processor for ${Math.round(silentMs)} ms without answering (heartbeat.busyLimitMs)`,
			),
	});
}

/** Reports that a worker takes no more calls. */
function reportRetiring(
	{ ref }: Worker,
	reason: RetireReason,
	{ clock, emit }: Pick<World, "clock" | "emit">,
): void {
	emit({ type: "worker.retiring", wallMs: clock.wall(), ...ref, reason });
}

/** Reports that a worker is condemned. */
function reportCondemned(
	{ ref, cause }: Worker,
	reason: EndReason,
	{ clock, emit }: Pick<World, "clock" | "emit">,
): void {
	const wallMs = clock.wall();
	emit({
		type: "worker.condemned",
		wallMs,
		...ref,
		reason,
		message: cause.verdict,
	});
}

/** How a condemned worker is ended. */
export function mannerOf(reason: EndReason | undefined): StopManner {
	if (reason === "hung") return "dumped";
	return reason === "broken" ? "patient" : "forced";
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

function impossibleStep(
	{ ref, state }: Worker,
	occurrence: WorkerOccurrence,
): SnakepitError {
	return new SnakepitError({
		code: "IMPOSSIBLE_TRANSITION",
		ran: "maybe",
		message: `Worker ${ref.workerId} was ${state} when ${occurrence} happened. This is a defect in Snakepit: please report it.`,
	});
}

/** The end of one worker: why, in which manner, and what caused it. */
class WorkerStop {
	readonly cause: EndCause = new EndCause();
	/** For a worker that is condemned. */
	manner: StopManner = "forced";
	readonly #ladder: StopLadder;

	constructor(ref: WorkerRef, plan: StopPlan, world: World) {
		const { clock, emit } = world;
		this.#ladder = new StopLadder(plan, world, {
			signalled: (signal) => this.cause.signalled(signal, "stop_ladder"),
			stepped: (step, sent) =>
				emit({
					type: "worker.stop_step",
					wallMs: clock.wall(),
					...ref,
					step,
					sent,
				}),
			spared: (groupId, pids) =>
				emit({
					type: "worker.group_spared",
					wallMs: clock.wall(),
					...ref,
					groupId,
					pids,
				}),
		});
	}

	/** Begins to end it; when that has begun already, kills it at once. */
	climb(
		belongings: WorkerBelongings,
		connection: Connection | undefined,
		manner: StopManner,
	): Promise<StopOutcome> {
		const target = { connection, ...belongings };
		return this.#ladder.climb(target, manner);
	}

	/** Its end was seen, or will not be. Resolves to what ended it, when nothing is left of its group. */
	async finish(
		belongings: WorkerBelongings,
		connection: Connection | undefined,
		exit: ProcessExit | undefined,
	): Promise<Killer> {
		const target = { connection, ...belongings };
		await this.#ladder.finish(target);
		return this.cause.conclude(exit, lostParentOf(belongings.process));
	}

	/** Kills its group in this very turn, for the exit of the host. */
	killNow(process: WorkerBelongings["process"] | undefined): void {
		this.cause.presume("host_exit");
		if (process?.signal("SIGKILL", "group") === "sent")
			this.cause.signalled("SIGKILL", "application_cleanup");
	}
}

/** How a worker ended. */
interface WorkerEndFacts {
	/** `undefined` when it was sent SIGKILL and cannot die. */
	readonly exit: ProcessExit | undefined;
	readonly reason: EndReason;
	readonly killer: Killer;
	readonly callsLost: number;
	/** The command of the call that it ran longest at its end, or of its last one. */
	readonly lastCommand: string | undefined;
}

/** What a worker leaves at its end. */
interface WorkerEstate {
	readonly belongings: WorkerBelongings;
	readonly calls: RunningCalls;
	readonly end: WorkerStop;
	readonly listener: WorkerListener;
}

/**
 * Settles a worker whose end was seen, or will not be: ends its group and its calls,
 * removes what was made for it, and notifies everything that waits for it.
 */
async function settleWorker(
	worker: Worker,
	{ belongings, calls, end, listener }: WorkerEstate,
	exit: ProcessExit | undefined,
	world: World,
): Promise<void> {
	const { clock } = world;
	const { connection } = worker;
	const killer = await end.finish(belongings, connection, exit);
	await awaitLastOutput(belongings, calls, clock);
	noteParentLost(worker, belongings.process);
	if (worker.companion !== undefined) await noteCompanionLost(worker, exit);
	outbox.during(() => {
		calls.lose(() => workerLost(worker, exit));
		const reason = worker.cause.reason ?? "exited";
		const { lost: callsLost, lastCommand } = calls;
		const facts = { exit, reason, killer, callsLost, lastCommand };
		reportEnd(worker, belongings, facts, world);
		listener.released(worker, {
			...{ reason, readyMs: worker.readyMs },
			...(exit === undefined && { undying: belongings.process.identity }),
		});
	});
	await hangUp(connection, clock);
}

/** Resolves when what a dead worker printed and answered before its end was read, or will not be. */
async function awaitLastOutput(
	{ output, conversation }: WorkerBelongings,
	calls: RunningCalls,
	clock: Clock,
): Promise<void> {
	await output.lastLines();
	await calls.lastAnswers(clock, conversation);
}

/** What workers say at these ends explains nothing. */
const IN_ORDER: readonly EndReason[] = ["closed", "recycled"];
/** Of each worker, in the ledger. */
const TAIL_CHARACTERS = 4_096;

/** Removes what was made for a worker, records its end, and reports it. */
function reportEnd(
	worker: Worker,
	belongings: WorkerBelongings,
	facts: WorkerEndFacts,
	world: World,
): void {
	const { process, output } = belongings;
	const { exit, reason, killer, callsLost, lastCommand } = facts;
	output.close();
	const tail = output.tail.lines();
	recordEnd(
		belongings,
		worker.ref.incarnation,
		{
			...{ exit, reason, killer },
			...(!IN_ORDER.includes(reason) && {
				tail: lastCharacters(tail, TAIL_CHARACTERS),
				lastCommand,
			}),
		},
		world,
	);
	world.emit({
		type: "worker.exited",
		wallMs: world.clock.wall(),
		...worker.ref,
		pid: process.identity.pid,
		exit,
		reason,
		killer,
		callsLost,
		lifetimeMs: worker.readyMs,
		tail,
	});
}

/** An adapter that does not close its connection must not hold up the end of a pool. */
const HANG_UP_MS = 1_000;

/** Closes a conversation whose process is gone. */
async function hangUp(
	connection: Connection | undefined,
	clock: Clock,
): Promise<void> {
	if (connection === undefined) return;
	try {
		const deadline = { clock, ms: HANG_UP_MS };
		await withDeadline(connection[Symbol.asyncDispose](), deadline, () => {});
	} catch {
		// There is nothing left that it could still harm.
	}
}
