import type { PoolSnapshot, RunSnapshot } from "./controlled-run.ts";

/** The condition of a run, for the first line that people read. */
export interface Verdict {
	/** `"trouble"`: calls wait and nothing will run them soon, no worker is alive, or one hangs. */
	readonly level: "fine" | "busy" | "trouble";
	readonly text: string;
}

/** The line names a worker that is silent for longer. Its pool ends that worker later, after `heartbeat.hungAfterMs`. */
const SILENT_MS = 5_000;

/** Says why calls of a pool wait; `undefined` when none does. */
export function whyWaiting(pool: PoolSnapshot): string | undefined {
	if (pool.queue.waiting === 0) return undefined;
	if (pool.phase === "paused") return "the pool is paused";
	const without = withoutWorkers(pool);
	if (without !== undefined) return without.text;
	const ready = pool.workers.filter(({ state }) => state === "ready");
	const busy = ready.filter(
		({ running }) => running.length >= pool.callsPerWorker,
	);
	if (busy.length < ready.length)
		return `${busy.length} of ${ready.length} are busy: waiting calls need the worker of their session, or are being sent now`;
	return ready.length === 1
		? "the only worker is busy"
		: `all ${ready.length} are busy`;
}

/** Describes the condition of a run in one line. */
export function verdict(run: RunSnapshot): Verdict {
	const verdicts = run.pools.map(poolVerdict);
	const worst =
		verdicts.find(({ level }) => level === "trouble") ??
		verdicts.find(({ level }) => level === "busy");
	if (worst !== undefined) return worst;
	const workers = run.pools.flatMap((pool) => pool.workers);
	const busy = workers.filter(({ running }) => running.length > 0).length;
	return {
		level: "fine",
		text:
			run.pools.length === 0
				? "No pool is open."
				: `${count(workers.length, "worker")}, ${busy} busy; no call waits.`,
	};
}

function poolVerdict(pool: PoolSnapshot): Verdict {
	const silent = pool.workers.find(
		({ state, heartbeat }) =>
			state === "ready" &&
			(heartbeat?.silentMs ?? 0) > SILENT_MS &&
			(heartbeat?.missedInARow ?? 0) > 0,
	);
	if (silent?.heartbeat)
		return {
			level: "trouble",
			text: `${pool.pool}: worker ${silent.workerId} has not answered for ${seconds(silent.heartbeat.silentMs)}.`,
		};
	const why = whyWaiting(pool);
	if (why === undefined) return idleVerdict(pool);
	const { waiting, oldestMs } = pool.queue;
	const isServed =
		pool.phase !== "paused" &&
		pool.workers.some(({ state }) => state === "ready");
	return {
		level: isServed ? "busy" : "trouble",
		text: `${pool.pool}: ${count(waiting, "call")} ${waiting === 1 ? "waits" : "wait"}, ${why}; the oldest has waited ${seconds(oldestMs ?? 0)}.`,
	};
}

/** The pool has no waiting calls. */
function idleVerdict(pool: PoolSnapshot): Verdict {
	const idle = (level: Verdict["level"], state: string): Verdict => ({
		level,
		text: `${pool.pool}: ${state}; no call waits.`,
	});
	if (pool.phase === "paused") return idle("busy", "paused");
	const isWanted = pool.phase === "open" && pool.size.min > 0;
	const without = isWanted ? withoutWorkers(pool) : undefined;
	return without === undefined
		? { level: "fine", text: "" }
		: idle(without.level, without.text);
}

/** `undefined` where a worker is ready. */
function withoutWorkers({ workers }: PoolSnapshot): Verdict | undefined {
	if (workers.some(({ state }) => state === "ready")) return undefined;
	const starting = workers.filter(({ state }) => state === "starting").length;
	return starting === 0
		? { level: "trouble", text: "no worker is alive" }
		: {
				level: "busy",
				text: `no worker is ready, ${isAre(starting)} starting`,
			};
}

function seconds(ms: number): string {
	return `${(ms / 1_000).toFixed(1)} s`;
}

function count(number: number, noun: string): string {
	return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function isAre(number: number): string {
	return number === 1 ? "1 is" : `${number} are`;
}
