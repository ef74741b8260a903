import type { RemoteUsage } from "../contract/connection.ts";
import type { ProcessHost, ThreadFacts } from "../contract/world.ts";

/** What is known of one worker's answers when it is judged. Times in milliseconds of the monotonic clock. */
export interface HeartbeatEvidence {
	readonly nowMs: number;
	/** When it last answered or became ready, or what it missed was forgiven. */
	readonly lastAnswerMs: number;
	readonly missedInARow: number;
	/** Longest delay of the host's own event loop since the previous judgement. */
	readonly hostDelayMs: number;
	/** How far the wall clock moved against the monotonic one since the previous judgement: a suspend or a jump. */
	readonly clockSkewMs: number;
	readonly debuggerAttached: boolean;
	/** Whether it has worked since the previous look at its processor time. */
	readonly activity: Activity;
	/** When it was last seen to work while it was silent; `undefined` when it was not. */
	readonly activeAtMs: number | undefined;
}

export interface HeartbeatRule {
	readonly intervalMs: number;
	readonly hungAfterMs: number;
	readonly missedPings: number;
	readonly busyLimitMs: number;
}

/** Why a silent worker is judged to hang. */
export type HangCause =
	/** It did nothing. */
	| "idle"
	/** It did something, and longer than `heartbeat.busyLimitMs`. */
	| "busy_limit";

type HeartbeatVerdict =
	| { readonly kind: "healthy" }
	/** Silent, but not long enough, or it worked a moment ago. */
	| { readonly kind: "suspect" }
	/** The host cannot judge now: what it missed may be its own fault. */
	| {
			readonly kind: "suspended";
			readonly reason: "host_lagged" | "clock_jumped" | "debugger";
	  }
	/** Silent, yet it works. */
	| { readonly kind: "busy" }
	| { readonly kind: "hung"; readonly cause: HangCause };

/** Judges one worker. A hang is a verdict, never a fact: in doubt it is not one. */
export function judgeHeartbeat(
	evidence: HeartbeatEvidence,
	rule: HeartbeatRule,
): HeartbeatVerdict {
	const { nowMs, lastAnswerMs, activity } = evidence;
	const silentMs = nowMs - lastAnswerMs;
	if (evidence.missedInARow === 0) return { kind: "healthy" };
	if (evidence.debuggerAttached)
		return { kind: "suspended", reason: "debugger" };
	if (Math.abs(evidence.clockSkewMs) > rule.intervalMs)
		return { kind: "suspended", reason: "clock_jumped" };
	if (evidence.hostDelayMs > rule.intervalMs / 2)
		return { kind: "suspended", reason: "host_lagged" };
	if (silentMs < rule.hungAfterMs || evidence.missedInARow < rule.missedPings)
		return { kind: "suspect" };
	const idleMs = nowMs - Math.max(lastAnswerMs, evidence.activeAtMs ?? 0);
	if (activity === "idle" && idleMs >= rule.hungAfterMs)
		return { kind: "hung", cause: "idle" };
	if (silentMs >= rule.busyLimitMs)
		return { kind: "hung", cause: "busy_limit" };
	return { kind: activity === "active" ? "busy" : "suspect" };
}

/**
 * Whether a worker that does not answer is working. `"unknown"`: this is the first look,
 * and there is nothing yet to compare it with.
 */
export type Activity = "active" | "idle" | "unknown";

/**
 * A thread that used at least this share of the time since the last look computes.
 *
 * Each thread that waits for Python's lock wakes up 200 times a second and used
 * 0.9 % at most on a machine with too few processors, all threads of an idle worker
 * over gRPC together 0.2 %. A thread that computes and shares its processor with 30
 * others still gets 3 %.
 */
const ACTIVE_SHARE = 0.03;

/** What one process had used when it was looked at. */
interface Look {
	readonly atMs: number;
	readonly threads: ReadonlyMap<string, ThreadFacts>;
}

/** What happened between two looks at some threads. */
interface Advance {
	readonly cpuMs: number;
	readonly activity: Activity;
}

/**
 * Compares two looks at the same threads.
 *
 * Threads are judged one by one: many that wait for Python's lock use together as
 * much as one that computes.
 */
export function advanceOf(before: Look | undefined, now: Look): Advance {
	let cpuMs = 0;
	let isHeld = false;
	let mostMs = 0;
	for (const [id, thread] of now.threads) {
		// A thread that is new has used all of it since.
		const usedMs = thread.cpuTimeMs - (before?.threads.get(id)?.cpuTimeMs ?? 0);
		cpuMs += usedMs;
		mostMs = Math.max(mostMs, usedMs);
		// A disk or a network file system is slow, or a debugger holds it: that is no hang.
		// One that was stopped hangs.
		if (thread.held === "uninterruptible" || thread.held === "traced")
			isHeld = true;
	}
	if (before === undefined)
		return { cpuMs: 0, activity: isHeld ? "active" : "unknown" };
	const passedMs = now.atMs - before.atMs;
	const computes = mostMs > 0 && mostMs >= passedMs * ACTIVE_SHARE;
	return { cpuMs, activity: computes || isHeld ? "active" : "idle" };
}

/**
 * Looks at the processes of one worker while it is silent: at the worker itself,
 * and at its whole group where that one is idle, for a tool may wait for a child
 * that computes.
 *
 * The group is looked at only then, since that reads the whole process table.
 */
export class ActivityWatch {
	readonly #pid: number;
	readonly #host: Pick<ProcessHost, "threads" | "members">;
	readonly #elsewhere: (() => RemoteUsage | undefined) | undefined;
	#worker: Look | undefined;
	#group: Look | undefined;

	/** @param elsewhere what the worker uses on another machine: what is here is not the worker itself then. */
	constructor(
		pid: number,
		host: Pick<ProcessHost, "threads" | "members">,
		elsewhere?: () => RemoteUsage | undefined,
	) {
		this.#pid = pid;
		this.#host = host;
		this.#elsewhere = elsewhere;
	}

	/** What it did since the last look. */
	look(atMs: number): Advance {
		if (this.#elsewhere !== undefined)
			return this.#lookElsewhere(this.#elsewhere(), atMs);
		const worker = this.#look([this.#pid], atMs);
		const own = advanceOf(this.#worker, worker);
		this.#worker = worker;
		if (own.activity === "active") return own;
		const others = this.#others();
		if (others === undefined) return { cpuMs: own.cpuMs, activity: "unknown" };
		const group = this.#look(others, atMs);
		const advance = advanceOf(this.#group, group);
		this.#group = group;
		return {
			cpuMs: own.cpuMs + advance.cpuMs,
			activity:
				own.activity === "idle" && others.length === 0
					? "idle"
					: advance.activity,
		};
	}

	/** The processes in its group beside it; `undefined` where the process table cannot be read now: in doubt nothing hangs. */
	#others(): readonly number[] | undefined {
		try {
			return this.#host
				.members(this.#pid)
				.map(({ identity }) => identity.pid)
				.filter((pid) => pid !== this.#pid);
		} catch {
			return undefined;
		}
	}

	/** All its processes as one thread: where many wait for Python's lock it counts as busy, and in doubt nothing hangs. */
	#lookElsewhere(usage: RemoteUsage | undefined, atMs: number): Advance {
		if (usage === undefined) return { cpuMs: 0, activity: "unknown" };
		const { cpuTimeMs } = usage;
		const all: ThreadFacts = { id: "all", cpuTimeMs, held: "no" };
		const look: Look = { atMs, threads: new Map([[all.id, all]]) };
		const advance = advanceOf(this.#worker, look);
		this.#worker = look;
		return advance;
	}

	/** Forgets what it saw: the next look is the first. */
	reset(): void {
		this.#worker = undefined;
		this.#group = undefined;
	}

	#look(pids: readonly number[], atMs: number): Look {
		const threads = new Map<string, ThreadFacts>();
		for (const pid of pids)
			for (const thread of this.#host.threads(pid))
				threads.set(`${pid} ${thread.id}`, thread);
		return { atMs, threads };
	}
}
