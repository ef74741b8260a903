import type { Clock } from "../contract/clock.ts";
import type { Connection } from "../contract/connection.ts";
import type { ProcessExit } from "../contract/identity.ts";
import type { EndReason, Killer } from "../contract/process-registry.ts";
import type { World } from "../contract/world.ts";
import { outbox } from "../outbox.ts";
import { lastCharacters } from "../process/output-tail.ts";
import { recordEnd } from "../process/owned-process.ts";
import { noteCompanionLost } from "./companion-tie.ts";
import { noteParentLost } from "./parent-lost.ts";
import type { RunningCalls } from "./running-calls.ts";
import type { Worker } from "./worker.ts";
import { workerLost } from "./worker-lost.ts";
import type { WorkerBelongings, WorkerListener } from "./worker-parts.ts";
import type { WorkerStop } from "./worker-stop.ts";

/** How a worker ended. */
export interface WorkerEndFacts {
	/** `undefined` when it was sent SIGKILL and cannot die. */
	readonly exit: ProcessExit | undefined;
	readonly reason: EndReason;
	readonly killer: Killer;
	readonly callsLost: number;
	/** The command of the call that it ran longest at its end, or of its last one. */
	readonly lastCommand: string | undefined;
}

/** What a worker leaves at its end. */
export interface WorkerEstate {
	readonly belongings: WorkerBelongings;
	readonly calls: RunningCalls;
	readonly end: WorkerStop;
	readonly listener: WorkerListener;
}

/**
 * Settles a worker whose end was seen, or will not be: ends its group and its calls,
 * removes what was made for it, and notifies everything that waits for it.
 */
export async function settleWorker(
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
export async function hangUp(
	connection: Connection | undefined,
	clock: Clock,
): Promise<void> {
	if (connection === undefined) return;
	const late = Promise.withResolvers<void>();
	const timer = clock.after(HANG_UP_MS, late.resolve);
	try {
		await Promise.race([connection[Symbol.asyncDispose](), late.promise]);
	} catch {
		// There is nothing left that it could still harm.
	} finally {
		timer.cancel();
	}
}
