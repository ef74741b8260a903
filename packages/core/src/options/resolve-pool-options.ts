import type { Adapter } from "../contract/adapter.ts";
import { OptionsError } from "../contract/errors.ts";
import type { Instrument } from "../contract/instrument.ts";
import {
	aFunction,
	anObject,
	type Check,
	type Complete,
	checkOptions,
	optional,
	show,
	wholeNumber,
} from "./check.ts";
import { resolveGroup } from "./groups.ts";
import {
	CALLS_DEFAULTS,
	HEARTBEAT_DEFAULTS,
	type HeartbeatOptions,
	type ObserveOptions,
	OUTPUT_DEFAULTS,
	POOL_DEFAULTS,
	type PoolOptions,
	QUEUE_DEFAULTS,
	RECYCLE_DEFAULTS,
	type RecycleOptions,
	type ResolvedHeartbeat,
	type ResolvedOptions,
	type ResolvedRecycle,
	type ResolvedStart,
	SESSIONS_DEFAULTS,
	SIZE_DEFAULTS,
	START_DEFAULTS,
	STOP_DEFAULTS,
	type StartOptions,
} from "./pool-options.ts";

const anything: Check = () => undefined;
/** In log lines, paths and ids of workers. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/;
const NAME_IS = "1 to 40 letters, digits, dots, dashes or underscores";
const isAdapter: Check = (value) => {
	if (
		typeof value !== "object" ||
		value === null ||
		typeof (value as Adapter).name !== "string" ||
		typeof (value as Adapter).launch !== "function" ||
		typeof (value as Adapter).connect !== "function"
	)
		return "must be an Adapter: an object with a name (a string) and the functions launch and connect";
	return NAME.test((value as Adapter).name)
		? undefined
		: `must have a name of ${NAME_IS}, not ${JSON.stringify((value as Adapter).name.slice(0, 60))}`;
};
const areInstruments: Check = (value) =>
	Array.isArray(value) &&
	value.every((each) => typeof (each as Instrument)?.attach === "function")
		? undefined
		: "must be an array of Instruments, for example [telemetry()]";
/** The rows of a group check what is in it; this checks whether it is an object. */
const isGroup = (value: unknown): boolean => anObject(value) === undefined;
export const OBSERVE_CHECKS: Readonly<Record<keyof ObserveOptions, Check>> = {
	args: optional(aFunction),
};
const isCount = wholeNumber(1, 10_000);
const isSize: Check = (value) =>
	typeof value === "number"
		? isCount(value)
		: isGroup(value)
			? undefined
			: "must be a number of workers, or { min, max, idleMs }";
const isHeartbeat: Check = (value) =>
	value === "off" || isGroup(value)
		? undefined
		: 'must be an object of options, or "off"';
const isPoolName: Check = (value) =>
	typeof value === "string" && NAME.test(value)
		? undefined
		: `must be ${NAME_IS}`;

/** What is in a group is checked by the rows of the group. */
export const POOL_CHECKS: Readonly<Record<keyof PoolOptions, Check>> = {
	adapter: isAdapter,
	name: optional(isPoolName),
	size: optional(isSize),
	callsPerWorker: optional(POOL_DEFAULTS.callsPerWorker.check),
	start: anything,
	queue: anything,
	calls: anything,
	heartbeat: optional(isHeartbeat),
	recycle: anything,
	sessions: anything,
	stop: anything,
	output: anything,
	observe: anything,
	onEvent: optional(aFunction),
	instruments: optional(areInstruments),
};

/**
 * Checks the options of a pool, fills in the defaults and freezes the result.
 *
 * @param processors how many processors this process may use; the default of `size.max`.
 * @param freeName makes a name that is left out differ from those of other pools.
 * @param at what takes them, for messages.
 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`, before anything was started.
 */
export function resolveOptions(
	given: PoolOptions,
	processors: number,
	freeName: (name: string) => string = (name) => name,
	at = "createPool",
): ResolvedOptions {
	checkOptions(at, given, POOL_CHECKS);
	const asked: ResolvedOptions = {
		adapter: given.adapter,
		name: given.name ?? freeName(given.adapter.name),
		size: resolveSize(at, given.size, processors),
		callsPerWorker: given.callsPerWorker ?? POOL_DEFAULTS.callsPerWorker.value,
		start: startOf(resolveGroup(at, "start", given.start, START_DEFAULTS)),
		queue: resolveGroup(at, "queue", given.queue, QUEUE_DEFAULTS),
		calls: resolveGroup(at, "calls", given.calls, CALLS_DEFAULTS),
		deadlinesOfCalls: "kept",
		heartbeat:
			given.heartbeat === "off"
				? "off"
				: heartbeatOf(
						resolveGroup(at, "heartbeat", given.heartbeat, HEARTBEAT_DEFAULTS),
					),
		recycle: recycleOf(
			resolveGroup(at, "recycle", given.recycle, RECYCLE_DEFAULTS),
		),
		sessions: resolveGroup(at, "sessions", given.sessions, SESSIONS_DEFAULTS),
		stop: resolveGroup(at, "stop", given.stop, STOP_DEFAULTS),
		output: {
			...resolveGroup(at, "output", given.output, OUTPUT_DEFAULTS),
			...OUTPUT,
		},
		observe: observeOf(at, given.observe),
		onEvent: given.onEvent,
		instruments: [...(given.instruments ?? [])],
	};
	const resolved =
		given.adapter.debugged === true ? debuggedPool(asked) : asked;
	for (const value of Object.values(resolved))
		if (value !== given.adapter) Object.freeze(value);
	return Object.freeze(resolved);
}

/** More starts at once than processors only delay each other. */
const STARTS_AT_ONCE = 8;
/** With the default of `start.backoffMs` 10 s: a repaired cause is noticed within seconds. */
const MAX_BACKOFFS = 50;
/** Rare crashes heal for ever, a crash loop is reported within a minute. */
const RESTART_WINDOW_MS = 60_000;

function startOf(start: Complete<StartOptions>): ResolvedStart {
	return {
		...start,
		concurrency: STARTS_AT_ONCE,
		maxBackoffMs: MAX_BACKOFFS * start.backoffMs,
		restartWindowMs: RESTART_WINDOW_MS,
	};
}

/** One or two may be lost to a busy machine. */
const MISSED_PINGS = 3;

/** A ping may take one interval, so that pings do not pile up. */
function heartbeatOf(heartbeat: Complete<HeartbeatOptions>): ResolvedHeartbeat {
	return {
		...heartbeat,
		missedPings: MISSED_PINGS,
		pingTimeoutMs: heartbeat.intervalMs,
	};
}

/** One look at the process table for all workers, where memory has a limit. */
const MAX_CHECK_INTERVAL_MS = 5_000;
const MIN_CHECK_INTERVAL_MS = 10;

/** Ten checks in the life of a worker, so that `recycle.afterMs` is exceeded by a tenth at most. */
function recycleOf(recycle: Complete<RecycleOptions>): ResolvedRecycle {
	const tenth = Math.ceil(recycle.afterMs / 10);
	const checkIntervalMs = Math.max(
		MIN_CHECK_INTERVAL_MS,
		Math.min(MAX_CHECK_INTERVAL_MS, tenth),
	);
	return { ...recycle, checkIntervalMs };
}

/** A longer line is data, not a message; and a traceback and what led to it. */
const OUTPUT = { maxLineBytes: 16_384, tailLines: 20 } as const;

function observeOf(at: string, observe: ObserveOptions = {}): ObserveOptions {
	checkOptions(`${at} observe`, observe, OBSERVE_CHECKS);
	return { args: observe.args };
}

function resolveSize(
	at: string,
	given: PoolOptions["size"],
	processors: number,
): ResolvedOptions["size"] {
	const asked =
		typeof given === "number" ? { min: given, max: given } : (given ?? {});
	const sizes = resolveGroup(at, "size", asked, SIZE_DEFAULTS);
	const max = asked.max ?? Math.max(processors, sizes.min);
	if (sizes.min > max) {
		throw new OptionsError({
			code: "INVALID_OPTION",
			message: `${at} size: "min" (${sizes.min}) must not be greater than "max" (${show(max)}).`,
		});
	}
	return { min: sizes.min, max, idleMs: sizes.idleMs };
}

/** As long as a timer of Node can wait: 24.8 days. A person who thinks has no deadline. */
const NO_DEADLINE_MS = 2 ** 31 - 1;

/**
 * The options of a pool whose worker stops where a person looks at it: there is one, and nothing that waits for it gives
 * up. A signal that ends the program, `process.exit()` and a forced close end it as usual.
 */
function debuggedPool(options: ResolvedOptions): ResolvedOptions {
	const { size, start, queue, calls, recycle, stop } = options;
	const never = Number.POSITIVE_INFINITY;
	return {
		...options,
		size: { ...size, min: 1, max: 1 },
		callsPerWorker: 1,
		start: { ...start, timeoutMs: NO_DEADLINE_MS },
		queue: { ...queue, timeoutMs: never },
		calls: { ...calls, timeoutMs: never, cancelGraceMs: NO_DEADLINE_MS },
		deadlinesOfCalls: "ignored",
		heartbeat: "off",
		recycle: {
			...recycle,
			afterMs: never,
			afterCalls: never,
			aboveResidentBytes: never,
			afterCancels: never,
		},
		stop: {
			...stop,
			drainMs: NO_DEADLINE_MS,
			killAfterMs: NO_DEADLINE_MS,
		},
	};
}
