import type { Clock } from "../contract/clock.ts";
import {
	isSameProcess,
	mayLive,
	type ProcessIdentity,
} from "../contract/identity.ts";
import { pause } from "../deadline.ts";
import type { SnapshotHost } from "../os/descendants.ts";

/** A process that shall end. */
export interface KillTarget {
	readonly identity: ProcessIdentity;
	/** Where the process is known to be in a group of ours: the group is killed as one. */
	readonly wholeGroup?: number | undefined;
}

/** What became of it. */
export type Fate =
	/** It left on SIGTERM. */
	| "ended_on_term"
	/** It had to be killed. */
	| "killed"
	/** The system did not let us signal it. */
	| "refused"
	/** SIGKILL was sent, and it is still there at the deadline: uninterruptible sleep. */
	| "survived"
	/** It is this process, or one that this process descends from. */
	| "protected";

export interface KillResult<Target extends KillTarget> {
	readonly target: Target;
	readonly fate: Fate;
}

/** One clock for the whole ladder, in milliseconds from the end of the first look: how long that takes is not the processes' fault. */
export interface KillLimits {
	/** From SIGTERM to SIGKILL; 0 kills immediately. */
	readonly graceMs: number;
	readonly deadlineMs: number;
}

interface Progress<Target> {
	readonly target: Target;
	asked: boolean;
	killed: boolean;
	fate: Fate | undefined;
}

/** Between two looks: the system does not report the end of processes that are not our children. */
const FIRST_LOOK_MS = 2;
const LONGEST_LOOK_MS = 50;
/** While one process does not die, others may still fork: so often all is searched again. */
const LONGEST_WAIT_MS = 250;

/**
 * Ends processes and returns what became of each.
 *
 * Before every signal the identity is read again. This process and its
 * ancestors are never signalled.
 */
export class ProcessKiller {
	readonly #host: SnapshotHost;
	readonly #clock: Clock;
	readonly #protected: ReadonlySet<number>;

	constructor(host: SnapshotHost, clock: Clock) {
		this.#host = host;
		this.#clock = clock;
		this.#protected = new Set([host.self.pid, ...host.ancestors()]);
	}

	/**
	 * Ends everything that `find` finds, and looks again until it finds nothing
	 * more: SIGTERM, and after the grace SIGKILL.
	 */
	async end<Target extends KillTarget>(
		find: () => readonly Target[] | Promise<readonly Target[]>,
		limits: KillLimits,
	): Promise<readonly KillResult<Target>[]> {
		let begunAt: number | undefined;
		const all: Progress<Target>[] = [];
		const open = (): Progress<Target>[] =>
			all.filter((progress) => this.#isOpen(progress));
		while (true) {
			const known = all.map(({ target }) => target);
			// Only a look that began after the last end proves that nothing is left:
			// what ends during one may fork after it was listed.
			const wasOver = open().length === 0;
			for (const target of await find())
				if (!known.some((each) => isSame(each, target)))
					all.push(this.#begin(target));
			if (wasOver && all.length === known.length) break;
			const now = this.#clock.now();
			begunAt ??= now;
			const elapsed = now - begunAt;
			if (elapsed >= limits.deadlineMs) {
				await this.#killTheRest(open);
				break;
			}
			const late = elapsed >= limits.graceMs;
			if (late) this.#kill(open());
			else this.#ask(open());
			const rest = (late ? limits.deadlineMs : limits.graceMs) - elapsed;
			await this.#untilNone(open, Math.min(rest, LONGEST_WAIT_MS));
		}
		return all.map(({ target, fate }) => ({
			target,
			fate: fate ?? "survived",
		}));
	}

	#begin<Target extends KillTarget>(target: Target): Progress<Target> {
		const fate = this.#protected.has(target.identity.pid)
			? "protected"
			: undefined;
		return { target, asked: false, killed: false, fate };
	}

	#ask(targets: readonly Progress<KillTarget>[]): void {
		for (const progress of targets) {
			if (progress.asked) continue;
			progress.asked = true;
			this.#signal(progress, "SIGTERM");
		}
	}

	#kill(targets: readonly Progress<KillTarget>[]): void {
		const groups = new Map<number, ProcessIdentity>();
		for (const { target } of targets)
			if (target.wholeGroup !== undefined)
				groups.set(target.wholeGroup, target.identity);
		for (const progress of targets) progress.killed = true;
		// What forks faster than it can be listed is only caught as a group.
		for (const [groupId, member] of groups)
			if (!this.#hasProtected(groupId))
				this.#host.signalGroup(groupId, member, "SIGKILL");
		for (const progress of targets) this.#signal(progress, "SIGKILL");
	}

	/** A look that outlasts the deadline is no reason to spare what got no SIGKILL yet. */
	async #killTheRest(
		open: () => readonly Progress<KillTarget>[],
	): Promise<void> {
		const rest = open().filter(({ killed }) => !killed);
		if (rest.length === 0) return;
		this.#kill(rest);
		await this.#untilNone(
			() => rest.filter((progress) => this.#isOpen(progress)),
			LONGEST_WAIT_MS,
		);
	}

	#hasProtected(groupId: number): boolean {
		return this.#host
			.members(groupId)
			.some(({ identity }) => this.#protected.has(identity.pid));
	}

	#signal(progress: Progress<KillTarget>, signal: NodeJS.Signals): void {
		const outcome = this.#host.signal(progress.target.identity, signal);
		if (outcome === "refused") progress.fate = "refused";
	}

	/** Whether it is still to be ended; notices its end. */
	#isOpen(progress: Progress<KillTarget>): boolean {
		if (progress.fate !== undefined) return false;
		const { identity } = progress.target;
		if (mayLive(identity, this.#host.observe(identity.pid))) return true;
		progress.fate = progress.killed ? "killed" : "ended_on_term";
		return false;
	}

	/** Waits at least once: what forks and ends faster than it is listed must not keep this program from its other work. */
	async #untilNone(
		open: () => readonly unknown[],
		longestMs: number,
	): Promise<void> {
		const begunAt = this.#clock.now();
		let lookMs = FIRST_LOOK_MS;
		do {
			const left = longestMs - (this.#clock.now() - begunAt);
			if (left <= 0) return;
			await pause(this.#clock, Math.min(lookMs, left));
			lookMs = Math.min(lookMs * 2, LONGEST_LOOK_MS);
		} while (open().length > 0);
	}
}

function isSame(a: KillTarget, b: KillTarget): boolean {
	return isSameProcess(a.identity, b.identity);
}
