import {
	type Check,
	type Complete,
	checkOptions,
	milliseconds,
	nonEmptyText,
	oneOf,
	optional,
} from "@snakepit/core/options";

/** Options of a watchdog. */
export interface WatchdogOptions {
	/** Time from SIGTERM to SIGKILL after the host's death; 0 kills immediately. @default 0 ms */
	readonly graceMs?: number | undefined;
	/**
	 * How often to check the host if its pipe was closed by mistake, or is held by a copy of the host that native code has
	 * forked: then no event reports its end.
	 * @default 1 000 ms
	 */
	readonly checkIntervalMs?: number | undefined;
	/**
	 * The executable of a Node that runs the watchdog. By default, the one that runs this program; if another runtime runs
	 * it, or if it is a single executable application, the first `node` in `PATH` that is Node 22 or newer.
	 */
	readonly node?: string | undefined;
	/** What happens when the watchdog cannot be started: `"start"`, the run opens without one, with the event `protection.unavailable`; `"refuse"`, `openRun` and `createPool` throw `PROTECTION_UNAVAILABLE`. @default "start" */
	readonly whenUnavailable?: "start" | "refuse" | undefined;
}

export type ResolvedWatchdogOptions = Complete<Omit<WatchdogOptions, "node">> &
	Pick<WatchdogOptions, "node">;

/** The defaults, and why. */
export const WATCHDOG_DEFAULTS: Readonly<
	Record<
		keyof WatchdogOptions,
		{ readonly value: number | string | undefined; readonly reason: string }
	>
> = {
	graceMs: {
		value: 0,
		reason:
			"after the host's death nobody can use a worker's results, and a process that ignores SIGTERM would survive the whole grace period",
	},
	checkIntervalMs: {
		value: 1000,
		reason: "one read of one small file a second costs nothing",
	},
	node: {
		value: undefined,
		reason: "a program that Node runs has one",
	},
	whenUnavailable: {
		value: "start",
		reason: "a missing protection should not keep a program from working",
	},
};

export const WATCHDOG_CHECKS: Readonly<Record<keyof WatchdogOptions, Check>> = {
	graceMs: optional(milliseconds(0)),
	checkIntervalMs: optional(milliseconds(10)),
	node: optional(nonEmptyText),
	whenUnavailable: optional(oneOf("start", "refuse")),
};

/** @throws OptionsError naming the option that is wrong. */
export function resolveWatchdogOptions(
	options: WatchdogOptions,
): ResolvedWatchdogOptions {
	checkOptions("watchdog", options, WATCHDOG_CHECKS);
	const { graceMs, checkIntervalMs, whenUnavailable } = WATCHDOG_DEFAULTS;
	return {
		graceMs: options.graceMs ?? (graceMs.value as number),
		checkIntervalMs:
			options.checkIntervalMs ?? (checkIntervalMs.value as number),
		node: options.node,
		whenUnavailable:
			options.whenUnavailable ?? (whenUnavailable.value as "start" | "refuse"),
	};
}
