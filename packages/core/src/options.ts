import type { Adapter } from "./adapter.ts";
import type { CleanupStrategy } from "./cleanup/cleanup-strategy.ts";
import { OptionsError } from "./errors.ts";
import type { SnakepitEvent } from "./events.ts";
import {
	aFunction,
	type Check,
	checkOptions,
	milliseconds,
	nonEmptyText,
	oneOf,
	optional,
	show,
	wholeNumber,
} from "./option-check.ts";

/** How many workers there are. */
export interface SizeOptions {
	/** Kept ready at all times. */
	readonly min?: number;
	/** Started on demand up to here, and retired again when idle. */
	readonly max?: number;
	/** How long a worker above `min` may be idle before it is retired. */
	readonly idleMs?: number;
}

/** The start of a worker. */
export interface StartOptions {
	/** From spawn to ready. */
	readonly timeoutMs?: number;
	/** How many workers may be starting at the same time. */
	readonly concurrency?: number;
	/** Delay before the second start in a row on one seat; doubles each time. The first restart is immediate. */
	readonly backoffMs?: number;
	readonly maxBackoffMs?: number;
	/** How many restarts the pool allows itself within `restartWindowMs`; past it, it says so and stops spinning. */
	readonly maxRestarts?: number;
	readonly restartWindowMs?: number;
}

/** Calls that wait for a worker. */
export interface QueueOptions {
	/** Calls that may wait; one more is refused as `QUEUE_FULL`. */
	readonly limit?: number;
	/** How long a call may wait, unless it says so itself. */
	readonly timeoutMs?: number;
}

/** Calls that run. */
export interface CallsOptions {
	/** Deadline of a call, the wait in the queue included, unless it says so itself. */
	readonly timeoutMs?: number;
	/** How long a worker may take to come free after a cancel, before it is replaced. */
	readonly cancelGraceMs?: number;
}

/** Finding workers that hang. */
export interface HeartbeatOptions {
	readonly intervalMs?: number;
	/** A worker is hung when its last answer is older than this *and* `missedPings` in a row went unanswered. */
	readonly hungAfterMs?: number;
	readonly missedPings?: number;
	/** How long one ping may take. */
	readonly pingTimeoutMs?: number;
}

/** Replacing workers that still work. The replacement is ready before the old one is asked to leave. */
export interface RecycleOptions {
	readonly afterMs?: number;
	readonly afterCalls?: number;
	/** Resident memory of the worker's whole process group, in bytes. */
	readonly aboveResidentBytes?: number;
	/** How often age and memory are looked at. */
	readonly checkIntervalMs?: number;
}

/** Sessions. */
export interface SessionsOptions {
	/** A session that is not used for this long is over. */
	readonly ttlMs?: number;
	readonly limit?: number;
}

/** The end of a worker. */
export interface StopOptions {
	/** How long `close()` waits for running calls. */
	readonly drainMs?: number;
	/** How long a worker may take to leave before it is killed. */
	readonly killAfterMs?: number;
}

/** What workers print. */
export interface OutputOptions {
	/** Whether their lines also appear on the host's standard error, with the worker's name. */
	readonly echo?: "stderr" | "none";
	/** A longer line is cut. */
	readonly maxLineBytes?: number;
	/** How many of the last lines are kept to explain a death. */
	readonly tailLines?: number;
}

/** Everything that can be said about a pool, grouped by the moment in life that it governs. */
export interface PoolOptions {
	readonly adapter: Adapter;
	/** Appears in worker names and events; the adapter's name by default. */
	readonly name?: string;
	/** A number means `{min: n, max: n}`. */
	readonly size?: number | SizeOptions;
	/** How many calls one worker may run at once. */
	readonly callsPerWorker?: number;
	readonly start?: StartOptions;
	readonly queue?: QueueOptions;
	readonly calls?: CallsOptions;
	readonly heartbeat?: HeartbeatOptions | "off";
	readonly recycle?: RecycleOptions;
	readonly sessions?: SessionsOptions;
	readonly stop?: StopOptions;
	readonly output?: OutputOptions;
	/** Where the ledger is; the user's state directory by default. Programs with different ones never see each other. */
	readonly dataDir?: string;
	/** Has a say about each orphan of a dead run before it is ended. */
	readonly cleanupStrategy?: CleanupStrategy;
	/** Hears every event, from the first on. One that throws cannot hurt the pool. */
	readonly onEvent?: (event: SnakepitEvent) => void;
}

/** One number: what it is when left out, what it may be, and why. */
export interface Default {
	readonly value: number;
	readonly check: Check;
	readonly reason: string;
}

/** The options that are numbers. */
export type DefaultName =
	| "size.min"
	| "size.max"
	| "size.idleMs"
	| "callsPerWorker"
	| "start.timeoutMs"
	| "start.concurrency"
	| "start.backoffMs"
	| "start.maxBackoffMs"
	| "start.maxRestarts"
	| "start.restartWindowMs"
	| "queue.limit"
	| "queue.timeoutMs"
	| "calls.timeoutMs"
	| "calls.cancelGraceMs"
	| "heartbeat.intervalMs"
	| "heartbeat.hungAfterMs"
	| "heartbeat.missedPings"
	| "heartbeat.pingTimeoutMs"
	| "recycle.afterMs"
	| "recycle.afterCalls"
	| "recycle.aboveResidentBytes"
	| "recycle.checkIntervalMs"
	| "sessions.ttlMs"
	| "sessions.limit"
	| "stop.drainMs"
	| "stop.killAfterMs"
	| "output.maxLineBytes"
	| "output.tailLines";

/**
 * Every number, with the reason for it. `Infinity` means: no bound.
 * docs/reference/options.md is made from it.
 */
export const DEFAULTS: Readonly<Record<DefaultName, Default>> = {
	"size.min": {
		value: 1,
		check: wholeNumber(0, 10_000),
		reason: "a worker is expensive: one is kept warm, more come on demand",
	},
	"size.max": {
		value: 4,
		check: wholeNumber(1, 10_000),
		reason:
			"replaced by the processors this process may use when that is known",
	},
	"size.idleMs": {
		value: 60_000,
		check: milliseconds(0),
		reason: "longer than the pauses of a user, shorter than a coffee",
	},
	callsPerWorker: {
		value: 1,
		check: wholeNumber(1, 10_000),
		reason:
			"most tools hold the interpreter's lock: one at a time is the honest default",
	},
	"start.timeoutMs": {
		value: 60_000,
		check: milliseconds(1),
		reason:
			"importing a large framework from a cold disk takes tens of seconds",
	},
	"start.concurrency": {
		value: 8,
		check: wholeNumber(1, 1_000),
		reason: "more starts at once than processors only delay each other",
	},
	"start.backoffMs": {
		value: 200,
		check: milliseconds(0),
		reason:
			"a start costs about as much: half of one processor at most goes into failing",
	},
	"start.maxBackoffMs": {
		value: 10_000,
		check: milliseconds(0),
		reason: "a repaired cause is noticed within seconds",
	},
	"start.maxRestarts": {
		value: 20,
		check: wholeNumber(0, 1_000_000),
		reason: "rare crashes heal for ever, a crash loop is named within a minute",
	},
	"start.restartWindowMs": {
		value: 60_000,
		check: milliseconds(1),
		reason: "see start.maxRestarts",
	},
	"queue.limit": {
		value: 1_000,
		check: wholeNumber(0),
		reason: "a bound that back-pressures a server before its memory does",
	},
	"queue.timeoutMs": {
		value: Number.POSITIVE_INFINITY,
		check: milliseconds(0),
		reason: "the call's own deadline counts the wait already",
	},
	"calls.timeoutMs": {
		value: Number.POSITIVE_INFINITY,
		check: milliseconds(1),
		reason: "only the caller knows how long its work may take",
	},
	"calls.cancelGraceMs": {
		value: 2_000,
		check: milliseconds(1),
		reason:
			"twenty times what a cancelled tool needs, short enough that a stuck worker is not missed",
	},
	"heartbeat.intervalMs": {
		value: 2_000,
		check: milliseconds(10),
		reason: "from the source documents",
	},
	"heartbeat.hungAfterMs": {
		value: 10_000,
		check: milliseconds(10),
		reason: "from the source documents",
	},
	"heartbeat.missedPings": {
		value: 3,
		check: wholeNumber(1, 1_000),
		reason: "from the source documents",
	},
	"heartbeat.pingTimeoutMs": {
		value: 2_000,
		check: milliseconds(1),
		reason: "one interval: pings do not pile up",
	},
	"recycle.afterMs": {
		value: Number.POSITIVE_INFINITY,
		check: milliseconds(1),
		reason: "off: only leaking tools need it",
	},
	"recycle.afterCalls": {
		value: Number.POSITIVE_INFINITY,
		check: wholeNumber(1),
		reason: "off: only leaking tools need it",
	},
	"recycle.aboveResidentBytes": {
		value: Number.POSITIVE_INFINITY,
		check: wholeNumber(1),
		reason: "off: only leaking tools need it",
	},
	"recycle.checkIntervalMs": {
		value: 5_000,
		check: milliseconds(10),
		reason: "reading the memory of a group costs well under a millisecond",
	},
	"sessions.ttlMs": {
		value: 3_600_000,
		check: milliseconds(1),
		reason: "from the source documents: one hour",
	},
	"sessions.limit": {
		value: 10_000,
		check: wholeNumber(1),
		reason: "from the source documents",
	},
	"stop.drainMs": {
		value: 30_000,
		check: milliseconds(0),
		reason: "what orchestrators allow before they kill",
	},
	"stop.killAfterMs": {
		value: 5_000,
		check: milliseconds(0),
		reason: "time to run shut-down hooks",
	},
	"output.maxLineBytes": {
		value: 16_384,
		check: wholeNumber(64, 16_777_216),
		reason: "a longer line is data, not a message",
	},
	"output.tailLines": {
		value: 20,
		check: wholeNumber(0, 10_000),
		reason: "a traceback and what led to it",
	},
};

/** Options after the door: complete, checked, frozen. */
export interface ResolvedOptions {
	readonly adapter: Adapter;
	readonly name: string;
	readonly size: {
		readonly min: number;
		readonly max: number;
		readonly idleMs: number;
	};
	readonly callsPerWorker: number;
	readonly start: Required<StartOptions>;
	readonly queue: Required<QueueOptions>;
	readonly calls: Required<CallsOptions>;
	readonly heartbeat: Required<HeartbeatOptions> | "off";
	readonly recycle: Required<RecycleOptions>;
	readonly sessions: Required<SessionsOptions>;
	readonly stop: Required<StopOptions>;
	readonly output: Required<OutputOptions>;
	readonly dataDir: string | undefined;
	readonly cleanupStrategy: CleanupStrategy | undefined;
	readonly onEvent: ((event: SnakepitEvent) => void) | undefined;
}

const anything: Check = () => undefined;
const isAdapter: Check = (value) =>
	typeof value === "object" &&
	value !== null &&
	typeof (value as Adapter).name === "string" &&
	typeof (value as Adapter).launch === "function" &&
	typeof (value as Adapter).connect === "function"
		? undefined
		: "must be an Adapter: an object with name, launch and connect";
const POOL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/;
const isPoolName: Check = (value) =>
	typeof value === "string" && POOL_NAME.test(value)
		? undefined
		: "must be 1 to 40 letters, digits, dots, dashes or underscores";

/**
 * Checks the options of a pool, fills in the defaults and freezes the result.
 *
 * @param processors how many processors this process may use; the default of `size.max`.
 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`, before anything was started.
 */
export function resolveOptions(
	given: PoolOptions,
	processors: number,
): ResolvedOptions {
	checkOptions("createPool", given, {
		adapter: isAdapter,
		name: optional(isPoolName),
		size: anything,
		callsPerWorker: optional(DEFAULTS.callsPerWorker.check),
		start: anything,
		queue: anything,
		calls: anything,
		heartbeat: anything,
		recycle: anything,
		sessions: anything,
		stop: anything,
		output: anything,
		dataDir: optional(nonEmptyText),
		cleanupStrategy: anything,
		onEvent: optional(aFunction),
	});
	const resolved: ResolvedOptions = {
		adapter: given.adapter,
		name: given.name ?? given.adapter.name,
		size: resolveSize(given.size, processors),
		callsPerWorker: given.callsPerWorker ?? DEFAULTS.callsPerWorker.value,
		start: group("start", given.start),
		queue: group("queue", given.queue),
		calls: group("calls", given.calls),
		heartbeat:
			given.heartbeat === "off" ? "off" : group("heartbeat", given.heartbeat),
		recycle: group("recycle", given.recycle),
		sessions: group("sessions", given.sessions),
		stop: group("stop", given.stop),
		output: {
			...group<Omit<Required<OutputOptions>, "echo">>("output", given.output, {
				echo: optional(oneOf("stderr", "none")),
			}),
			echo: given.output?.echo ?? "stderr",
		},
		dataDir: given.dataDir,
		cleanupStrategy: given.cleanupStrategy,
		onEvent: given.onEvent,
	};
	for (const value of Object.values(resolved))
		if (value !== given.adapter && value !== given.cleanupStrategy)
			Object.freeze(value);
	return Object.freeze(resolved);
}

function resolveSize(
	given: PoolOptions["size"],
	processors: number,
): ResolvedOptions["size"] {
	const asked =
		typeof given === "number" ? { min: given, max: given } : (given ?? {});
	const sizes = group<Required<SizeOptions>>("size", asked);
	const max = asked.max ?? Math.max(processors, sizes.min);
	if (max < 1 || sizes.min > max) {
		throw new OptionsError({
			code: "INVALID_OPTION",
			ran: "no",
			message: `createPool size: "min" (${sizes.min}) must not be greater than "max" (${show(max)}), and "max" must be at least 1.`,
		});
	}
	return { min: sizes.min, max, idleMs: sizes.idleMs };
}

/** Checks one group by the defaults table and fills it. */
function group<Resolved extends object>(
	name: string,
	given: object | undefined,
	extra: Readonly<Record<string, Check>> = {},
): Resolved {
	const prefix = `${name}.`;
	const rows = Object.entries(DEFAULTS).filter(([key]) =>
		key.startsWith(prefix),
	);
	const table: Record<string, Check> = { ...extra };
	const filled: Record<string, unknown> = {};
	for (const [key, { check, value }] of rows as [string, Default][]) {
		const option = key.slice(prefix.length);
		table[option] = optional((candidate) =>
			candidate === value ? undefined : check(candidate),
		);
		filled[option] =
			(given as Record<string, unknown> | undefined)?.[option] ?? value;
	}
	checkOptions(`createPool ${name}`, given ?? {}, table);
	return filled as Resolved;
}
