import { availableParallelism } from "node:os";
import { isDeepStrictEqual } from "node:util";
import type { ControlScope } from "@snakepit/control/server";
import type { CleanupStrategy } from "../contract/cleanup-strategy.ts";
import { OptionsError } from "../contract/errors.ts";
import type { SnakepitListener } from "../contract/events.ts";
import type { Protection } from "../contract/protection.ts";
import {
	aFunction,
	type Check,
	type Complete,
	checkOptions,
	milliseconds,
	nonEmptyText,
	oneOf,
	optional,
	show,
	wholeNumber,
} from "../options/check.ts";
import { type Defaults, resolveGroup } from "../options/groups.ts";
import type { PoolOptions, ResolvedOptions } from "../options/pool-options.ts";
import {
	POOL_CHECKS,
	resolveOptions,
} from "../options/resolve-pool-options.ts";
import { poolNames } from "../pool/pool-names.ts";

/** Options of a run, which all its pools share. A program has at most one run in each data directory. */
export interface RunOptions {
	/**
	 * Where the ledger is; by default, in the state directory of the user, which otherwise keeps the path for `snakepit ps`,
	 * unless `control` is off. Programs with different directories never see each other.
	 */
	readonly dataDir?: string | undefined;
	/**
	 * Whether a guard is the parent of the workers: three small processes that kill every descendant of a worker when this
	 * program dies, even one that left its group and session and cleared its environment. `"auto"`: yes, where it can
	 * work, which is on Linux with the native binary; otherwise, and for workers that need descriptors that a guard cannot
	 * pass on, only the other layers protect. `"required"`: nothing starts without it. `"off"`: this program is the parent
	 * of its workers.
	 * @default "auto"
	 */
	readonly guard?: "auto" | "required" | "off" | undefined;
	/** Further layers that kill workers when this program cannot: `watchdog()`. They cover every pool of the run. */
	readonly protections?: readonly Protection[] | undefined;
	/** Decides for each orphan of a dead run whether it is killed, while the run is being opened. */
	readonly cleanup?: CleanupStrategy | undefined;
	/** How often the ledger is compared with the process table, and what happens to strays. */
	readonly audit?: AuditOptions | undefined;
	/** How many jobs run at the same time (`run.job`). */
	readonly jobs?: JobsOptions | undefined;
	/** How many past runs the ledger keeps, and what it records of them. */
	readonly history?: HistoryBoundOptions | undefined;
	/**
	 * What happens when the program gets SIGINT or SIGTERM and has its own listener for it. `"end"`: the program has
	 * `signalGraceMs` to exit; then the pools close and the signal ends it. `"ignore"`: only the program decides; one run
	 * with `"ignore"` is enough. If the program has no listener, its pools close within 2 s and the signal ends it in
	 * either case. A SIGHUP that the program listens to is always left to it.
	 * @default "end"
	 */
	readonly onSignal?: "end" | "ignore" | undefined;
	/**
	 * How long a program that listens to SIGINT or SIGTERM may take to exit after the signal. Its pools stay open
	 * meanwhile. If runs of one program differ, the longest time counts. A second signal ends the program immediately.
	 * @default 35 000 ms
	 */
	readonly signalGraceMs?: number | undefined;
	/**
	 * Whether other processes of this user may observe the run: `true`, the default, means
	 * `{ scopes: ["read", "logs"] }`. The environment variable `SNAKEPIT_CONTROL=0` always turns it off.
	 */
	readonly control?: boolean | RunControlOptions | undefined;
	/** Called with every event of the run, from the first on. If it throws, the run continues. */
	readonly onEvent?: SnakepitListener | undefined;
}

/** The options that are in no group. */
export const RUN_DEFAULTS: Defaults<
	Pick<RunOptions, "guard" | "onSignal" | "signalGraceMs">
> = {
	guard: {
		value: "auto",
		check: oneOf("auto", "required", "off"),
		reason:
			"it starts in a few milliseconds, and nothing else kills a daemon that left its group and cleared its environment; without it, a program still starts",
	},
	onSignal: {
		value: "end",
		check: oneOf("end", "ignore"),
		reason:
			"a library may have installed the listener, which does not mean that the program wants to keep running",
	},
	signalGraceMs: {
		value: 35_000,
		check: milliseconds(0),
		reason:
			"longer than the 30 s of Kubernetes and of most servers that drain, shorter than the 90 s of systemd",
	},
};

/** Options of a run: complete, checked, frozen. */
export interface ResolvedRunOptions {
	readonly guard: "auto" | "required" | "off";
	readonly protections: readonly Protection[];
	readonly cleanup: CleanupStrategy | undefined;
	readonly audit: Complete<AuditOptions>;
	readonly jobs: Complete<JobsOptions>;
	readonly history: Complete<HistoryBoundOptions>;
	readonly onSignal: "end" | "ignore";
	readonly signalGraceMs: number;
	/** What clients in other processes may do; if it is empty, no client can connect. */
	readonly control: readonly ControlScope[];
}

const isProtection = (value: unknown): boolean =>
	typeof value === "object" &&
	value !== null &&
	typeof (value as Protection).name === "string" &&
	typeof (value as Protection).engage === "function";
const areProtections: Check = (value) => {
	if (!Array.isArray(value) || !value.every(isProtection))
		return "must be an array of Protections, for example [watchdog()]";
	const names = value.map(({ name }: Protection) => name);
	const twice = names.find((name, index) => names.indexOf(name) < index);
	return twice === undefined
		? undefined
		: `must name each protection once; "${twice}" is in it twice`;
};
const anything: Check = () => undefined;

/** What is in a group is checked by the rows of the group. */
export const RUN_CHECKS: Readonly<Record<keyof RunOptions, Check>> = {
	dataDir: optional(nonEmptyText),
	guard: optional(RUN_DEFAULTS.guard.check),
	protections: optional(areProtections),
	cleanup: optional(aFunction),
	audit: anything,
	jobs: anything,
	history: anything,
	onSignal: optional(RUN_DEFAULTS.onSignal.check),
	signalGraceMs: optional(RUN_DEFAULTS.signalGraceMs.check),
	control: anything,
	onEvent: optional(aFunction),
};

/**
 * Checks the options of a run and fills in the defaults.
 *
 * @param at what takes them, for messages: `openRun` or `createPool`.
 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`, before anything was started.
 */
export function resolveRunOptions(
	at: string,
	given: RunOptions,
	env: NodeJS.ProcessEnv = process.env,
): ResolvedRunOptions {
	checkOptions(at, given, RUN_CHECKS);
	return {
		guard: given.guard ?? RUN_DEFAULTS.guard.value,
		protections: [...(given.protections ?? [])],
		cleanup: given.cleanup,
		audit: resolveGroup(at, "audit", given.audit, AUDIT_DEFAULTS),
		jobs: resolveJobs(at, given.jobs),
		history: resolveGroup(at, "history", given.history, HISTORY_DEFAULTS),
		onSignal: given.onSignal ?? RUN_DEFAULTS.onSignal.value,
		signalGraceMs: given.signalGraceMs ?? RUN_DEFAULTS.signalGraceMs.value,
		control: controlScopes(at, given.control, env),
	};
}

function resolveJobs(
	at: string,
	given: JobsOptions | undefined,
): Complete<JobsOptions> {
	const jobs = resolveGroup(at, "jobs", given, JOBS_DEFAULTS);
	return { ...jobs, concurrency: given?.concurrency ?? availableParallelism() };
}

/**
 * Checks that what was given agrees with the run that is open already. What was left out agrees.
 *
 * @throws OptionsError `RUN_OPTION_CONFLICT` naming the option and both values.
 */
export function assertAgrees(
	at: string,
	given: RunOptions,
	open: ResolvedRunOptions,
	dataDir: string,
): void {
	const { protections, cleanup, audit, jobs, history, control, ...rest } =
		given;
	const leaves: Readonly<Record<string, unknown>> = {
		...within("audit", audit),
		...within("jobs", jobs),
		...within("history", history),
		onSignal: rest.onSignal,
		signalGraceMs: rest.signalGraceMs,
		guard: rest.guard,
		cleanup,
	};
	const opened: Readonly<Record<string, unknown>> = {
		...open,
		...within("audit", open.audit),
		...within("jobs", open.jobs),
		...within("history", open.history),
	};
	for (const [option, value] of Object.entries(leaves)) {
		const other = opened[option];
		if (value === undefined || value === other) continue;
		const open = typeof other === "function" ? "another one" : show(other);
		throw conflict(at, option, show(value), open, dataDir);
	}
	const scopes = controlScopes(at, control, process.env);
	if (control !== undefined && !isDeepStrictEqual(scopes, open.control))
		throw conflict(
			at,
			"control",
			JSON.stringify(scopes),
			JSON.stringify(open.control),
			dataDir,
		);
	if (protections !== undefined && !areTheSame(protections, open.protections))
		throw conflict(
			at,
			"protections",
			protectionNames(protections),
			protectionNames(open.protections),
			dataDir,
		);
}

function within(
	group: string,
	options: object | undefined,
): Readonly<Record<string, unknown>> {
	return Object.fromEntries(
		Object.entries(options ?? {}).map(([name, value]) => [
			`${group}.${name}`,
			value,
		]),
	);
}

/** The order does not matter: each has a name of its own. */
function areTheSame(
	some: readonly Protection[],
	others: readonly Protection[],
): boolean {
	return (
		some.length === others.length &&
		some.every((one) => others.some((other) => isSameProtection(one, other)))
	);
}

/** What a protection without settings does is known of the very same object alone. */
function isSameProtection(one: Protection, other: Protection): boolean {
	return (
		one === other ||
		(one.name === other.name &&
			one.whenUnavailable === other.whenUnavailable &&
			one.settings !== undefined &&
			isDeepStrictEqual(one.settings, other.settings))
	);
}

function protectionNames(protections: readonly Protection[]): string {
	const each = protections.map(
		({ name, settings = {} }) => `${name}(${JSON.stringify(settings)})`,
	);
	return `[${each.join(", ")}]`;
}

function conflict(
	at: string,
	option: string,
	given: string,
	open: string,
	dataDir: string,
): OptionsError {
	return new OptionsError({
		code: "RUN_OPTION_CONFLICT",
		message: `${at}: "${option}" is ${given} here, but this program's run in ${dataDir} was opened with ${open}. All pools of a run share its options, and they cannot change while it is open. Pass the same value or leave it out, set it where the run is opened, or use another dataDir.`,
	});
}

/**
 * Regular checks, while the run is open, for processes of the run that belong to none of its workers, and for workers
 * whose process is gone.
 */
export interface AuditOptions {
	/** Time between two checks. @default 30 000 ms */
	readonly intervalMs?: number | undefined;
	/** What happens to a process that belongs to no worker. @default "reported" */
	readonly strays?: "reported" | "killed" | undefined;
}

export const AUDIT_DEFAULTS: Defaults<AuditOptions> = {
	intervalMs: {
		value: 30_000,
		check: milliseconds(100),
		reason:
			"rare enough that reading the process table costs nothing, often enough to keep the ledger accurate",
	},
	strays: {
		value: "reported",
		check: oneOf("reported", "killed"),
		reason: "a tool may have left a process on purpose",
	},
};

/** What the ledger keeps of runs that have ended, as `readHistory` returns it. Past runs are removed when a run is opened. */
export interface HistoryBoundOptions {
	/** The oldest beyond this number are removed. @default 200 */
	readonly runs?: number | undefined;
	/** Older ones are removed. @default 2 592 000 000 ms (30 days) */
	readonly ageMs?: number | undefined;
	/**
	 * Whether this run records what the program was called with (`process.argv`), what its workers printed before they
	 * died, the name of their last command, and of failed calls the command, the message, the traceback and what
	 * `observe.args` returns.
	 * @default "recorded"
	 */
	readonly content?: "recorded" | "left_out" | undefined;
}

export const HISTORY_DEFAULTS: Defaults<HistoryBoundOptions> = {
	runs: {
		value: 200,
		check: wholeNumber(0, 100_000),
		reason: "a few megabytes",
	},
	ageMs: {
		value: 30 * 24 * 60 * 60 * 1000,
		check: wholeNumber(0),
		reason: "a month shows a pattern",
	},
	content: {
		value: "recorded",
		check: oneOf("recorded", "left_out"),
		reason:
			"it explains a crash during the night, in a file that only this user can read",
	},
};

/** How many jobs run at the same time, and how many may wait, in the whole run. */
export interface JobsOptions {
	/** Further jobs wait in order. By default, the number of processors. */
	readonly concurrency?: number | undefined;
	/** Further jobs are rejected with `JOB_QUEUE_FULL`. @default 1 000 */
	readonly queueLimit?: number | undefined;
}

export const JOBS_DEFAULTS: Defaults<JobsOptions, "concurrency"> = {
	concurrency: {
		value: undefined,
		check: wholeNumber(1, 10_000),
		reason: "more computing programs than processors only slow each other down",
	},
	queueLimit: {
		value: 1_000,
		check: wholeNumber(0),
		reason: "it slows a server's clients down before memory runs out",
	},
};

const ALL_SCOPES: readonly ControlScope[] = ["read", "logs", "act", "call"];
/** To look, and to change nothing. */
const BY_DEFAULT: readonly ControlScope[] = ["read", "logs"];
const VARIABLE = "SNAKEPIT_CONTROL";

/** What other processes of the same user may do with a running run, for example with `snakepit top`. */
export interface RunControlOptions {
	/** `"read"`: the state and events; `"logs"`: what workers print; `"act"`: everything that changes a pool; `"call"`: making calls. */
	readonly scopes: readonly ControlScope[];
}

export const RUN_CONTROL_CHECKS: Readonly<
	Record<keyof RunControlOptions, Check>
> = {
	scopes: (value) =>
		Array.isArray(value) &&
		value.length > 0 &&
		value.every((scope) => ALL_SCOPES.includes(scope))
			? undefined
			: 'must have at least one of "read", "logs", "act" and "call"',
};

/**
 * Resolves the option `control`: what others may do with the run; nothing where they cannot connect. The environment
 * belongs to who starts the program: it can always turn control off.
 *
 * @param at what takes it, for messages.
 * @throws OptionsError `INVALID_OPTION`, also for another value of `SNAKEPIT_CONTROL` than 0.
 */
export function controlScopes(
	at: string,
	option: boolean | RunControlOptions | undefined,
	env: NodeJS.ProcessEnv,
): readonly ControlScope[] {
	const variable = env[VARIABLE] ?? "";
	if (variable !== "" && variable !== "0")
		throw new OptionsError({
			code: "INVALID_OPTION",
			message: `The environment variable ${VARIABLE} must be 0, which turns control off, or not be set; got ${show(variable)}.`,
		});
	const wanted = option ?? true;
	if (typeof wanted !== "boolean")
		checkOptions(`${at} control`, wanted, RUN_CONTROL_CHECKS);
	if (variable === "0" || wanted === false) return [];
	if (wanted === true) return BY_DEFAULT;
	const { scopes } = wanted;
	return ALL_SCOPES.filter((scope) => scopes.includes(scope));
}

/** Options of a pool that is not made yet. */
export interface CheckedPool {
	readonly options: ResolvedOptions;
	/** Called when the pool is over, or could not be made. */
	readonly giveNameBack: () => void;
}

const isOfTheRun: Check = (value) =>
	value === undefined
		? undefined
		: "is an option of the run: it belongs in openRun()";
const CHECKS_IN_RUN: Readonly<Record<string, Check>> = {
	...Object.fromEntries(
		Object.keys(RUN_CHECKS).map((name) => [name, isOfTheRun]),
	),
	...POOL_CHECKS,
};

/**
 * Checks the options of a pool and takes its name.
 *
 * @param at what takes the options, for messages.
 * @throws OptionsError; nothing is taken then.
 */
export function checkPool(at: string, given: PoolOptions): CheckedPool {
	checkOptions(at, given, CHECKS_IN_RUN);
	const ofPool = Object.entries(given).filter(([name]) => name in POOL_CHECKS);
	const options = resolveOptions(
		Object.fromEntries(ofPool) as unknown as PoolOptions,
		availableParallelism(),
		(name) => poolNames.free(name),
		at,
	);
	return { options, giveNameBack: poolNames.take(options.name) };
}
