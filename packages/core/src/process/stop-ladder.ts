import type { Clock } from "../contract/clock.ts";
import type { Connection } from "../contract/connection.ts";
import type { EventOf } from "../contract/events.ts";
import { isSameProcess } from "../contract/identity.ts";
import { withFallback } from "../contract/thrown.ts";
import type {
	LifelineListener,
	ProcessFacts,
	ProcessHost,
	SignalTarget,
	StartedProcess,
} from "../contract/world.ts";
import { pause, resolvesWithin } from "../deadline.ts";

/** What the ladder needs of what it ends. */
export interface StopTarget {
	readonly process: StartedProcess;
	/** Ends it where this program may not, since it changed its user: the kernel kills a group that loses it. */
	readonly lifeline?: LifelineListener | undefined;
	/** Of a worker that is connected: it can be asked to leave. */
	readonly connection?: Connection | undefined;
	/** Makes the program write its stacks to standard error. */
	readonly dumpSignal?: NodeJS.Signals | undefined;
}

/** What the ladder needs of the world. */
export interface StopWorld {
	readonly clock: Clock;
	readonly host: ProcessHost;
}

/** How a process is asked to end, and how long that may take. */
export interface StopPlan {
	readonly signal: NodeJS.Signals;
	readonly to: "leader" | "group";
	readonly killAfterMs: number;
}

export type StopStep = EventOf<"worker.stop_step">["step"];

/** What the ladder reports. */
export interface StopListener {
	/** A signal reached the process; not one for what it left in its group. */
	signalled(signal: NodeJS.Signals): void;
	/** A rung, with how many processes it reached. */
	stepped(step: StopStep, sent: number): void;
	/** The number of its group is in use by processes that nothing proves to be its: they are left alone. */
	spared(groupId: number, pids: readonly number[]): void;
}

export type StopManner =
	/** From the gentlest rung on. */
	| "gentle"
	/** Let it write its stacks, which explain a hang, and kill. */
	| "dumped"
	/** Its conversation broke: most often because it is dying by itself, which explains more. Kill if it is not. */
	| "waiting"
	/** It ended its conversation in order and may have work to finish: it is not asked to leave, and has the same time. */
	| "ending"
	/** Kill. */
	| "forced";

export interface StopOutcome {
	/** Whether the process is gone: one in uninterruptible sleep was sent SIGKILL and cannot die. */
	readonly gone: boolean;
}

/** Stacks come through standard error within this time or not at all. */
export const DUMP_MS = 250;
/** The end of a conversation is seen first; the exit of the process follows within this time. */
export const OWN_END_MS = 100;
/** What a leader has left in its group is looked at again after this time; then after twice as long each time, up to 100 ms. */
const FIRST_LOOK_MS = 5;
const LONGEST_LOOK_MS = 100;
/** SIGKILL takes effect immediately, except in uninterruptible sleep, which is reported and not waited for. */
export const KILL_LIMIT_MS = 5_000;

/**
 * Ends one process and its group: leave, then the signal of the plan, then SIGKILL, then a last look at the group; all
 * of it within the one deadline, each rung recorded. SIGKILL is always for the group.
 *
 * The signal goes to the leader, which ends its children in its own order: a server whose children get it too loses
 * them before it has asked them to finish. A leader that the signal killed has done nothing, as a shell does: then what
 * it left gets the signal itself, and the time that is left. Descendants that left the group are looked for by marker elsewhere.
 */
export class StopLadder {
	readonly #plan: StopPlan;
	readonly #world: StopWorld;
	readonly #listener: StopListener;
	/** Aborted when there is no more time for being gentle. */
	readonly #hurry = new AbortController();
	#outcome: Promise<StopOutcome> | undefined;

	constructor(plan: StopPlan, world: StopWorld, listener: StopListener) {
		this.#plan = plan;
		this.#world = world;
		this.#listener = listener;
	}

	/** Begins; a second call continues with SIGKILL. */
	async climb(target: StopTarget, manner: StopManner): Promise<StopOutcome> {
		if (this.#outcome !== undefined) {
			this.#hurry.abort();
			return await this.#outcome;
		}
		// Set before the first step is reported: a listener of it may call again.
		const { promise, resolve } = Promise.withResolvers<StopOutcome>();
		this.#outcome = promise;
		resolve(this.#run(target, manner));
		return await promise;
	}

	/** For a process whose end was seen: what it left in its group is ended too, also when its end was not ordered. */
	async finish(target: StopTarget): Promise<StopOutcome> {
		if (this.#outcome !== undefined) return await this.#outcome;
		return this.#gone(target);
	}

	async #run(target: StopTarget, manner: StopManner): Promise<StopOutcome> {
		const { process, connection, dumpSignal } = target;
		const { clock } = this.#world;
		const hurry = this.#hurry.signal;
		const { signal, to, killAfterMs } = this.#plan;
		const killAtMs = clock.now() + killAfterMs;
		let isRefused = false;
		const send = (signal: NodeJS.Signals, to: SignalTarget): 0 | 1 => {
			const outcome = process.signal(signal, to);
			isRefused = outcome === "refused";
			const cut =
				isRefused && signal === "SIGKILL" ? target.lifeline : undefined;
			cut?.close();
			if (outcome !== "sent" && cut === undefined) return 0;
			this.#listener.signalled(signal);
			return 1;
		};
		const endsItself = manner === "gentle" || manner === "ending";

		// Half of the time belongs to the conversation; what it leaves belongs to the signal.
		const halfMs = killAfterMs / 2;
		if (manner === "gentle" && connection?.leave !== undefined) {
			this.#listener.stepped("leave", 0);
			const rung = new AbortController();
			const givenUp = AbortSignal.any([hurry, rung.signal]);
			leave(connection, givenUp).catch(() => rung.abort()); // A conversation that is broken cannot leave.
			const left = await resolvesWithin(process.exited, halfMs, clock, givenUp);
			rung.abort();
			if (left) return this.#gone(target);
		}
		if (
			manner === "ending" &&
			(await resolvesWithin(process.exited, halfMs, clock, hurry))
		)
			return this.#gone(target);
		if (endsItself && !hurry.aborted) {
			const whom = to === "leader" ? "process" : "group";
			this.#listener.stepped("terminate", send(signal, whom));
			const timeLeftMs = isRefused ? 0 : Math.max(0, killAtMs - clock.now());
			if (await resolvesWithin(process.exited, timeLeftMs, clock, hurry)) {
				if (to === "leader") await this.#endLeft(process, killAtMs);
				return this.#gone(target);
			}
		}
		if (manner === "dumped" && dumpSignal !== undefined) {
			send(dumpSignal, "process");
			await resolvesWithin(process.exited, DUMP_MS, clock, hurry);
		}
		if (
			manner === "waiting" &&
			(await resolvesWithin(process.exited, OWN_END_MS, clock, hurry))
		)
			return this.#gone(target);
		this.#listener.stepped("kill", send("SIGKILL", "group"));
		const gone = await resolvesWithin(process.exited, KILL_LIMIT_MS, clock);
		this.#sweep(target);
		return { gone };
	}

	/** The signal reaches what a leader has left that was killed by it; resolves when nothing of that is left, or its time is over. */
	async #endLeft(process: StartedProcess, killAtMs: number): Promise<void> {
		const { signal } = this.#plan;
		const { clock } = this.#world;
		const exit = await process.exited;
		if (exit.kind === "code" || exit.signal !== signal) return;
		const left = this.#left(process);
		if (left.length === 0 || process.signal(signal, "group") !== "sent") return;
		this.#listener.stepped("terminate", left.length);
		for (let ms = FIRST_LOOK_MS; ; ms = Math.min(ms * 2, LONGEST_LOOK_MS)) {
			const isOver =
				this.#hurry.signal.aborted ||
				clock.now() >= killAtMs ||
				this.#left(process).length === 0;
			if (isOver) return;
			const pauseMs = Math.min(ms, killAtMs - clock.now());
			await pause(clock, pauseMs, this.#hurry.signal).catch(() => {});
		}
	}

	#gone(target: StopTarget): StopOutcome {
		this.#sweep(target);
		return { gone: true };
	}

	/** What is left in the group beside its leader; nothing where the process table cannot be read: it is looked for by marker later. */
	#left({ groupId, identity }: StartedProcess): readonly ProcessFacts[] {
		return withFallback([], () =>
			this.#world.host
				.members(groupId)
				.filter((member) => !isSameProcess(member.identity, identity)),
		);
	}

	/** Kills what is left in the group beside its leader. */
	#sweep(target: StopTarget): void {
		const { process } = target;
		const left = this.#left(process);
		if (left.length === 0) return;
		const outcome = process.signal("SIGKILL", "group");
		// By now the number belongs to a group that is not the worker's.
		if (outcome === "gone") return;
		this.#listener.stepped("sweep", outcome === "sent" ? left.length : 0);
		if (outcome === "unproven")
			this.#listener.spared(
				process.groupId,
				left.map(({ identity }) => identity.pid),
			);
	}
}

/** Asks the worker to leave; also an adapter that throws in the same turn makes it reject. */
async function leave(
	connection: Connection,
	signal: AbortSignal,
): Promise<void> {
	await connection.leave?.(signal);
}
