import type { Connection } from "../adapter.ts";
import { SnakepitError } from "../errors.ts";
import type { RetireReason } from "../pool-events.ts";
import type { EndReason, Killer } from "../registry/process-registry.ts";
import type { WorkerOccurrence } from "../worker-state.ts";
import type { Clock, ProcessExit, World } from "../world.ts";
import type { RunningCalls } from "./running-calls.ts";
import type { Worker } from "./worker.ts";
import type { WorkerBelongings } from "./worker-parts.ts";

/** How a worker ended. */
export interface WorkerEndFacts {
	/** `undefined` when it was told to die and cannot. */
	readonly exit: ProcessExit | undefined;
	readonly reason: EndReason;
	readonly killer: Killer;
	readonly callsLost: number;
}

/** Tells that a worker takes no more calls. */
export function tellRetiring(
	{ ref }: Worker,
	reason: RetireReason,
	{ clock, emit }: Pick<World, "clock" | "emit">,
): void {
	emit({ type: "worker.retiring", wallMs: clock.wall(), ...ref, reason });
}

/** Tells that a worker has to go. */
export function tellCondemned(
	{ ref, verdict }: Worker,
	reason: EndReason,
	{ clock, emit }: Pick<World, "clock" | "emit">,
): void {
	const wallMs = clock.wall();
	emit({
		type: "worker.condemned",
		wallMs,
		...ref,
		reason,
		message: verdict,
	});
}

export function impossibleStep(
	{ ref, state }: Worker,
	occurrence: WorkerOccurrence,
): SnakepitError {
	return new SnakepitError({
		code: "IMPOSSIBLE_TRANSITION",
		ran: "maybe",
		message: `Worker ${ref.workerId} was ${state} when ${occurrence} happened. This is a defect in Snakepit: please report it.`,
	});
}

/** Resolves when what a dead worker printed and answered before its end was read, or will not be. */
export async function awaitLastWords(
	{ output, conversation }: WorkerBelongings,
	calls: RunningCalls,
	clock: Clock,
): Promise<void> {
	await output.lastLines();
	await calls.lastAnswers(clock, conversation);
}

/**
 * Removes what was made for a worker, records its end, and tells it.
 *
 * One that does not die keeps its row and its files: the next start of any
 * program finds them.
 */
export function closeBooks(
	worker: Worker,
	belongings: WorkerBelongings,
	facts: WorkerEndFacts,
	{ host, registry, clock, emit }: World,
): void {
	const { process, output, lifeline, files } = belongings;
	const { exit, reason, killer, callsLost } = facts;
	output.close();
	lifeline?.close();
	if (exit !== undefined) {
		host.remove(files);
		registry.end(worker.ref.incarnation, { exit, reason, killer });
	}
	emit({
		type: "worker.exited",
		wallMs: clock.wall(),
		...worker.ref,
		pid: process.identity.pid,
		exit,
		reason,
		killer,
		callsLost,
		lifetimeMs: worker.readyMs,
		tail: output.tail.lines(),
	});
}

/** An adapter that does not let go must not hold up the end of a pool. */
const HANG_UP_MS = 1_000;

/** Lets go of a conversation whose process is gone. */
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
