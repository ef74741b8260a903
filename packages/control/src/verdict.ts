import type {
	PoolSnapshot,
	RunningCall,
	RunSnapshot,
	WorkerSnapshot,
} from "./controlled-run.ts";

/** The condition of a run, for the first line that people read. */
export interface Verdict {
	/** The worst level of the findings. */
	readonly level: Level;
	/** The worst finding, with what to do; how many workers there are when nothing is found. */
	readonly text: string;
	/** Everything that is not fine, the worst first. */
	readonly findings: readonly Finding[];
}

/** `"trouble"`: it does not go away by itself soon, or calls fail. `"busy"`: it may be as wanted. */
export type Level = "fine" | "busy" | "trouble";

/** One thing about a run that is not fine. */
export interface Finding {
	readonly kind: FindingKind;
	readonly level: Exclude<Level, "fine">;
	/** `null`: it is about the whole run. */
	readonly pool: string | null;
	/** `null`: it is about the whole pool. */
	readonly workerId: string | null;
	/** What it is, in two or three words. */
	readonly words: string;
	/** A sentence, with the name of the pool. */
	readonly text: string;
	/** A sentence; `null` where nothing has to be done. */
	readonly remedy: string | null;
}

export type FindingKind =
	/** Workers end again and again, shortly after their start or before they are ready. */
	| "crash_loop"
	/** There is no worker, and none is starting. */
	| "no_worker"
	/** Workers start, work, and end again and again. */
	| "workers_end"
	/** A part of the calls that ended lately failed. */
	| "calls_fail"
	/** No worker is ready yet. */
	| "starting"
	/** A worker does not answer. */
	| "hung_worker"
	/** A call has run much longer than others of its command, or for long, and it is not known how long it should. */
	| "long_call"
	/** The queue is nearly full, or a call has waited for long. */
	| "long_queue"
	/** Calls wait, as it happens when all workers are busy. */
	| "waiting"
	| "paused"
	/** The pool ends. */
	| "closing"
	/** The ledger could not be written, and records are only in memory. */
	| "unwritten_ledger";

/** A worker that is silent for longer is named. Its pool ends it later, after `heartbeat.hungAfterMs`. */
const SILENT_MS = 5_000;
/** So many failures in a row, of one worker, are a crash loop: the first two may be an accident and its repetition. */
const LOOP_FAILURES = 3;
/** So many restarts within the window of the budget, */
const MANY_ENDS = 3;
/** or so many failures at different times within this time, are no accident. */
const MANY_TIMES = 4;
const TIMES_MS = 300_000;
/** More than this share of the calls that ended lately, and at least so many of them, failed: that is trouble. */
const FAILED_SHARE = 0.05;
const FAILED_CALLS = 5;
/** A call that waits longer than this for a worker is trouble, */
const LONG_WAIT_MS = 30_000;
/** and a queue that has this share of the calls that it may have: the next calls are refused soon. */
const LONG_QUEUE_SHARE = 0.8;
/** A call that runs longer than this is trouble if it has also run this many times longer */
const LONG_CALL_MS = 30_000;
const LONG_CALL_FACTOR = 3;
/** than the longest of at least so many calls of its command. */
const ENOUGH_CALLS = 10;
/** Of fewer, nothing can be said of what is usual: then a call is named after this time, and may be as wanted. */
const UNKNOWN_CALL_MS = 60_000;
/** A call that has reported progress within this time goes on. */
const PROGRESS_MS = 60_000;
/** How much of a call's arguments is part of a sentence, in characters. */
const ARGS_CHARACTERS = 120;
/** So many workers with further calls of that length are named. */
const MOST_WORKERS = 5;
/** How much of the last error is part of a sentence, in characters. */
const ERROR_CHARACTERS = 240;

/** Says why calls of a pool wait; `undefined` when none does. */
export function whyWaiting(pool: PoolSnapshot): string | undefined {
	if (pool.queue.waiting === 0) return undefined;
	if (pool.phase === "paused") return "the pool is paused";
	const ready = readyWorkers(pool);
	if (ready.length === 0) return withoutReady(pool);
	const busy = ready.filter(
		({ running }) => running.length >= pool.callsPerWorker,
	);
	if (busy.length < ready.length)
		return `${busy.length} of ${ready.length} are busy: waiting calls need the worker of their session, or are being sent now`;
	return ready.length === 1
		? "the only worker is busy"
		: `${ready.length === 2 ? "both" : `all ${ready.length}`} are busy`;
}

/** Describes the condition of a run: what is wrong with it, and what to do. */
export function verdict(run: RunSnapshot): Verdict {
	const findings = [
		...ledgerFindings(run),
		...run.pools.flatMap((pool) => poolFindings(pool, run)),
	]
		.toSorted((a, b) => RANKS.indexOf(a.kind) - RANKS.indexOf(b.kind))
		.map((finding): Finding => ({ ...finding, words: WORDS[finding.kind] }));
	const troubles = findings.filter(({ level }) => level === "trouble");
	const sorted = [...troubles, ...findings.filter(isBusy)];
	const [worst] = sorted;
	if (worst === undefined)
		return { level: "fine", text: fineText(run), findings: [] };
	return { level: worst.level, text: findingText(worst), findings: sorted };
}

type Found = Omit<Finding, "words">;

function findingText({ text, remedy }: Found): string {
	return remedy === null ? text : `${text} ${remedy}`;
}

/** Of each kind; the worst first, among those of the same level. */
const WORDS: Readonly<Record<FindingKind, string>> = {
	crash_loop: "crash loop",
	no_worker: "no worker",
	long_queue: "long queue",
	hung_worker: "hung worker",
	workers_end: "workers end",
	calls_fail: "calls fail",
	unwritten_ledger: "ledger unwritten",
	paused: "paused",
	long_call: "long call",
	starting: "starting",
	waiting: "all busy",
	closing: "closing",
};
const RANKS = Object.keys(WORDS) as readonly FindingKind[];

function isBusy({ level }: Found): boolean {
	return level === "busy";
}

function fineText({ pools }: RunSnapshot): string {
	if (pools.length === 0) return "No pool is open.";
	const workers = pools.flatMap((pool) => pool.workers);
	const busy = workers.filter(({ running }) => running.length > 0).length;
	return `${count(workers.length, "worker")}, ${busy} busy; no call waits.`;
}

function ledgerFindings({ unwritten, dataDir }: RunSnapshot): readonly Found[] {
	if (unwritten === 0) return [];
	return [
		{
			...{ kind: "unwritten_ledger", level: "trouble" },
			...{ pool: null, workerId: null },
			text: `The ledger cannot be written: ${count(unwritten, "record")} of workers ${unwritten === 1 ? "is" : "are"} only in memory.`,
			remedy: `Look at the free space and the permissions of ${dataDir}; it is written as soon as that is possible.`,
		},
	];
}

function poolFindings(pool: PoolSnapshot, run: RunSnapshot): readonly Found[] {
	const about = {
		pool: pool.pool,
		workerId: null,
		may: (scope: "act") => run.scopes.includes(scope),
	};
	return [
		workersFinding(pool, about),
		endsFinding(pool, run, about),
		callsFinding(pool, run, about),
		...hungFindings(pool, about),
		...longCallFindings(pool, run.wallMs, about),
		queueFinding(pool, about),
	].flatMap((finding) => finding ?? []);
}

interface About {
	readonly pool: string;
	readonly workerId: null;
	/** Whether clients may do this. */
	readonly may: (scope: "act") => boolean;
}

/** About a pool whose workers are missing, or that is not served as usual. */
function workersFinding(
	pool: PoolSnapshot,
	{ may, ...about }: About,
): Found | undefined {
	const { phase, starts, size, queue } = pool;
	const isWanted = size.min > 0 || queue.waiting > 0;
	const line = `${waits(pool) ?? "no call waits"}.`;
	if (phase === "closing")
		return {
			...{ ...about, kind: "closing", level: "busy", remedy: null },
			text: `${pool.pool}: closing; ${count(pool.calls.running, "call")} still ${pool.calls.running === 1 ? "runs" : "run"}.`,
		};
	if (isLoop(pool))
		return {
			...{ ...about, kind: "crash_loop", level: "trouble" },
			text: `${pool.pool}: ${loopText(pool)}; ${line}`,
			remedy: loopRemedy(pool, may("act")),
		};
	if (readyWorkers(pool).length > 0 || !isWanted) return undefined;
	const words = withoutReady(pool);
	const text = `${pool.pool}: ${words}; ${line}${lastSentence(pool)}`;
	if (startingWorkers(pool).length > 0 || starts.next !== null)
		return {
			...{ ...about, kind: "starting", remedy: null, text },
			// A queue that grows meanwhile is found by itself.
			level: "busy",
		};
	return {
		...{ ...about, kind: "no_worker", level: "trouble", text },
		remedy: "If it stays so, restart the program.",
	};
}

/** About workers that become ready, and end again and again. */
function endsFinding(
	pool: PoolSnapshot,
	{ runId, wallMs }: RunSnapshot,
	{ may: _, ...about }: About,
): Found | undefined {
	const { phase, failureTimes, starts } = pool;
	// Of a loop, that has been said.
	if (phase === "closing" || isLoop(pool)) return undefined;
	const { spent, windowMs } = starts.budget;
	const times = failureTimes.filter((each) => wallMs - each < TIMES_MS).length;
	const often =
		spent >= MANY_ENDS
			? `${spent} in ${within(windowMs)}`
			: times >= MANY_TIMES
				? `${times} times in ${within(TIMES_MS)}`
				: undefined;
	if (often === undefined) return undefined;
	const { lastFailure } = pool;
	const last =
		lastFailure === null ? "" : `, last: ${shortened(lastFailure.cause)}`;
	return {
		...{ ...about, kind: "workers_end", level: "trouble" },
		text: stopped(`${pool.pool}: workers keep ending: ${often}${last}`),
		remedy: `See: snakepit incidents --run ${runId}.`,
	};
}

/** About calls that fail. What a full queue refused is not among them: its length is found by itself. */
function callsFinding(
	{ pool, phase, recentCalls }: PoolSnapshot,
	{ runId }: RunSnapshot,
	{ may: _, ...about }: About,
): Found | undefined {
	const { windowMs, ended, failed, last } = recentCalls;
	if (phase === "closing" || failed < FAILED_CALLS) return undefined;
	if (failed <= ended * FAILED_SHARE) return undefined;
	const words =
		last === null
			? ""
			: `, last: ${last.command}: ${last.code}: ${shortened(firstLine(last.message))}`;
	const lately = windowMs === 60_000 ? "minute" : within(windowMs);
	return {
		...{ ...about, kind: "calls_fail", level: "trouble" },
		text: stopped(
			`${pool}: ${failed} of the ${count(ended, "call")} of the last ${lately} failed${words}`,
		),
		remedy: `See: snakepit calls --failed --run ${runId}.`,
	};
}

function firstLine(text: string): string {
	return text.trim().split("\n", 1)[0] ?? "";
}

function isLoop({ starts }: PoolSnapshot): boolean {
	return (
		starts.next?.after === "budget" || starts.failuresInARow >= LOOP_FAILURES
	);
}

function loopText(pool: PoolSnapshot): string {
	const { starts, size } = pool;
	const { spent, max, windowMs } = starts.budget;
	const budget =
		starts.next?.after === "budget"
			? `All ${count(max, "restart")} of ${seconds(windowMs)} are spent`
			: `${spent} of ${count(max, "restart")} in ${seconds(windowMs)} are spent`;
	const next =
		starts.next === null
			? ""
			: `, the next start is in ${seconds(starts.next.inMs)}`;
	const ready = readyWorkers(pool).length;
	return `crash loop, ${ready} of ${count(size.max, "worker")} ready${stopped(lastError(pool))} ${budget}${next}`;
}

function loopRemedy(
	{ lastFailure, pool }: PoolSnapshot,
	mayAct: boolean,
): string {
	const workerId = lastFailure?.workerId ?? `${pool}-0`;
	return mayAct
		? `Mend what the error names, then: snakepit restart ${workerId} (a full budget, at once).`
		: "Mend what the error names: the pool tries again by itself.";
}

/** The last error as the end of a clause; empty when there was none. */
function lastError({ lastFailure }: PoolSnapshot): string {
	return lastFailure === null ? "" : `: ${shortened(lastFailure.cause)}`;
}

function lastSentence({ lastFailure }: PoolSnapshot): string {
	return lastFailure === null
		? ""
		: ` The last error: ${stopped(shortened(lastFailure.cause))}`;
}

/** What failed is at the beginning of a cause, and the error at its end. */
function shortened(text: string): string {
	const missing = text.length - ERROR_CHARACTERS;
	if (missing <= 0) return text;
	const begin = Math.floor(ERROR_CHARACTERS / 3);
	return `${text.slice(0, begin)}…${text.slice(begin + missing + 1)}`;
}

/** The end of a sentence. */
function stopped(text: string): string {
	return /[.?!…]$/.test(text) ? text : `${text}.`;
}

/** Calls that wait, as part of a sentence. */
function waits({ queue }: PoolSnapshot): string | undefined {
	const { waiting, oldestMs } = queue;
	if (waiting === 0) return undefined;
	return `${count(waiting, "call")} ${waiting === 1 ? "waits" : "wait"}, the oldest for ${seconds(oldestMs ?? 0)}`;
}

function hungFindings(pool: PoolSnapshot, about: About): readonly Found[] {
	return pool.workers.filter(isSilent).map((worker): Found => {
		const { workerId, heartbeat, running } = worker;
		const [oldest] = running;
		const call =
			oldest === undefined
				? ""
				: `, and has run ${oldest.command} for ${seconds(oldest.forMs)}${withArgs(oldest)}`;
		const end = about.may("act")
			? `End it: snakepit restart ${workerId}.`
			: "Its pool ends it after heartbeat.hungAfterMs.";
		return {
			...{ kind: "hung_worker", level: "trouble" },
			...{ pool: pool.pool, workerId },
			text: `${pool.pool}: worker ${workerId} (pid ${worker.pid}) has not answered for ${seconds(heartbeat?.silentMs ?? 0)}${call}.`,
			remedy: `See where it is: snakepit stacks ${workerId}. ${end}`,
		};
	});
}

/** Whether a worker does not answer, and does not compute either as far as its pool knows. */
function isSilent({ state, heartbeat }: WorkerSnapshot): boolean {
	return (
		state === "ready" &&
		heartbeat?.status !== "busy" &&
		(heartbeat?.silentMs ?? 0) > SILENT_MS &&
		(heartbeat?.missedInARow ?? 0) > 0
	);
}

/** About calls that run for long: of each level, the one that has run longest. */
function longCallFindings(
	pool: PoolSnapshot,
	wallMs: number,
	about: About,
): readonly Found[] {
	const calls = pool.workers
		// Of the others, their silence has been said.
		.filter((worker) => !isSilent(worker))
		.flatMap(({ workerId, running }) =>
			running.map((call) => ({ ...call, workerId, level: levelOf(call) })),
		)
		.toSorted((a, b) => b.forMs - a.forMs);
	return (["trouble", "busy"] as const).flatMap((level): readonly Found[] => {
		const [longest, ...others] = calls.filter((call) => call.level === level);
		if (longest === undefined) return [];
		const { workerId, command, callId, forMs } = longest;
		const since = timeText(wallMs - forMs, wallMs);
		const stacks = `see where it is: snakepit stacks ${workerId}.`;
		const end = about.may("act")
			? ` End it: snakepit restart ${workerId}.`
			: "";
		return [
			{
				...{ kind: "long_call", level, pool: pool.pool, workerId },
				text: `${pool.pool}: ${workerId} has run ${command} (${callId}) for ${seconds(forMs)}, since ${since}${withArgs(longest)}: ${whyLong(longest)}.${alsoLong(others)}`,
				remedy:
					level === "trouble"
						? `S${stacks.slice(1)}${end}`
						: `If that is too long, ${stacks}`,
			},
		];
	});
}

/** How bad it is that a call still runs. */
function levelOf({
	attempt,
	cancelled,
	forMs,
	usual,
	reportedMs,
}: RunningCall): Exclude<Level, "fine"> | undefined {
	// One that has not begun waits for another one; one that is cancelled has its grace.
	if (attempt === 0 || cancelled || usual === null) return undefined;
	if (forMs <= usual.longestMs * LONG_CALL_FACTOR) return undefined;
	const reports = reportedMs !== null && reportedMs < PROGRESS_MS;
	if (usual.calls < ENOUGH_CALLS)
		return forMs < UNKNOWN_CALL_MS || reports ? undefined : "busy";
	if (forMs < LONG_CALL_MS) return undefined;
	return reports ? "busy" : "trouble";
}

/** The reason why a call is named, and its last report of progress. */
function whyLong({ usual, reportedMs }: RunningCall): string {
	const { calls = 0, longestMs = 0 } = usual ?? {};
	const reported =
		reportedMs === null
			? ""
			: `; it reported progress ${seconds(reportedMs)} ago`;
	const longest = `the longest took ${quick(longestMs)}`;
	if (calls === 0) return `no call of it has ended here yet${reported}`;
	return calls < ENOUGH_CALLS
		? `only ${count(calls, "call")} of it ${calls === 1 ? "has" : "have"} ended here, ${longest}${reported}`
		: `longer than any of the last ${calls} calls of it, ${longest}${reported}`;
}

function alsoLong(others: readonly { readonly workerId: string }[]): string {
	if (others.length === 0) return "";
	const workers = [...new Set(others.map(({ workerId }) => workerId))];
	const more = workers.length > MOST_WORKERS ? ", …" : "";
	return ` ${count(others.length, "more call")} ${others.length === 1 ? "has" : "have"} run for long: on ${workers.slice(0, MOST_WORKERS).join(", ")}${more}.`;
}

/** The arguments of a call, as far as the program shows them, as part of a sentence. */
function withArgs({ args }: RunningCall): string {
	const text = args === undefined ? undefined : JSON.stringify(args);
	if (text === undefined) return "";
	return text.length > ARGS_CHARACTERS
		? `, with ${text.slice(0, ARGS_CHARACTERS)}…`
		: `, with ${text}`;
}

/** A moment on the clock of the wall, with its day unless that is today. */
function timeText(wallMs: number, nowMs: number): string {
	const [at, now] = [new Date(wallMs), new Date(nowMs)];
	const two = (number: number): string => String(number).padStart(2, "0");
	const parts = [at.getHours(), at.getMinutes(), at.getSeconds()];
	const time = parts.map(two).join(":");
	return at.toDateString() === now.toDateString()
		? time
		: `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** About calls that wait where there is a worker, or a pool that is paused. */
function queueFinding(
	pool: PoolSnapshot,
	{ may, ...about }: About,
): Found | undefined {
	const { phase, queue } = pool;
	const { waiting, limit, oldestMs } = queue;
	if (phase === "paused")
		return {
			...{ ...about, kind: "paused" },
			level: waiting > 0 ? "trouble" : "busy",
			text:
				waiting > 0
					? `${pool.pool}: paused, ${waits(pool)}.`
					: `${pool.pool}: paused; no call waits.`,
			remedy:
				waiting > 0
					? may("act")
						? `Resume it: snakepit resume --pool ${pool.pool}.`
						: "Have the program call pool.resume()."
					: null,
		};
	if (waiting === 0 || phase === "closing") return undefined;
	const why = whyWaiting(pool);
	const isFull = limit !== null && waiting >= limit * LONG_QUEUE_SHARE;
	const isOld = (oldestMs ?? 0) >= LONG_WAIT_MS;
	const text = `${pool.pool}: ${count(waiting, "call")} ${waiting === 1 ? "waits" : "wait"}, ${why}; the oldest has waited ${seconds(oldestMs ?? 0)}`;
	if (isFull || isOld) {
		const ofLimit = limit === null ? "" : ` of at most ${limit}`;
		return {
			...{ ...about, kind: "long_queue", level: "trouble" },
			text: `${pool.pool}: ${waiting}${ofLimit} ${waiting === 1 ? "call waits" : "calls wait"}, ${why}; the oldest has waited ${seconds(oldestMs ?? 0)}${longest(pool)}.`,
			remedy: queueRemedy(pool, may("act")),
		};
	}
	// Without a worker, that has been said.
	if (readyWorkers(pool).length === 0) return undefined;
	return {
		...{ ...about, kind: "waiting", level: "busy", remedy: null },
		text: `${text}.`,
	};
}

function queueRemedy(pool: PoolSnapshot, mayAct: boolean): string {
	if (readyWorkers(pool).length === 0)
		return "Calls are refused when it is full; see why no worker is ready.";
	const more = mayAct
		? `snakepit resize --pool ${pool.pool} --max ${pool.size.max + 1}`
		: "a greater size.max";
	return `See what the workers do: snakepit top --pool ${pool.pool}. If the calls are as they should be: more workers (${more}), or fewer calls at once.`;
}

/** The call that has run longest, as the end of a sentence. */
function longest({ workers }: PoolSnapshot): string {
	const calls = workers.flatMap(({ workerId, running }) =>
		running.map((call) => ({ ...call, workerId })),
	);
	const [first] = calls.toSorted((a, b) => b.forMs - a.forMs);
	return first === undefined
		? ""
		: `; ${first.workerId} has run ${first.command} for ${seconds(first.forMs)}`;
}

function readyWorkers({ workers }: PoolSnapshot): readonly WorkerSnapshot[] {
	return workers.filter(({ state }) => state === "ready");
}

function startingWorkers({ workers }: PoolSnapshot): readonly WorkerSnapshot[] {
	return workers.filter(({ state }) => state === "starting");
}

/** About a pool without a ready worker. */
function withoutReady(pool: PoolSnapshot): string {
	const starting = startingWorkers(pool).length;
	if (starting > 0) return `no worker is ready, ${isAre(starting)} starting`;
	const { next } = pool.starts;
	return next === null
		? "no worker is alive"
		: `no worker is alive, the next start is in ${seconds(next.inMs)}`;
}

/** A duration that may be far less than a second. */
function quick(ms: number): string {
	return ms < 100 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : seconds(ms);
}

function seconds(ms: number): string {
	// Never more than it has been.
	if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
	if (ms < 120_000) return `${Math.floor(ms / 1_000)} s`;
	const minutes = Math.floor(ms / 60_000);
	return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`;
}

/** The length of a window, which is as it was set. */
function within(ms: number): string {
	return ms % 60_000 === 0 ? `${ms / 60_000} min` : seconds(ms);
}

function count(number: number, noun: string): string {
	return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function isAre(number: number): string {
	return number === 1 ? "1 is" : `${number} are`;
}
