import type { LaunchSpec } from "../contract/launch.ts";
import {
	aFunction,
	type Check,
	checkOptions,
	environment,
	inheritedVariables,
	milliseconds,
	nonEmptyText,
	oneOf,
	optional,
	strings,
	wholeNumber,
} from "../options/check.ts";
import { type Defaults, resolveGroup } from "../options/groups.ts";
import { STOP_DEFAULTS, type StopOptions } from "../options/pool-options.ts";
import { PROGRAM_DEFAULTS, type ProgramOptions } from "../options/program.ts";
import type { StopPlan } from "../process/stop-ladder.ts";

/** The standard input of a program: a string, bytes, or an iterable of either, such as a `Readable` or a web stream. */
export type JobInput =
	| string
	| Uint8Array
	| Iterable<string | Uint8Array>
	| AsyncIterable<string | Uint8Array>;

/** The options that a job shares with the programs of workers. */
export type JobProgramOptions = Pick<
	ProgramOptions,
	"cwd" | "env" | "inheritEnv"
> &
	Pick<LaunchSpec, "lifeline">;

const JOB_STOP_DEFAULTS: Defaults<Pick<StopOptions, "signal" | "to">> = {
	signal: STOP_DEFAULTS.signal,
	to: STOP_DEFAULTS.to,
};

/** How one job is run. Takes `cwd`, `env` and `inheritEnv` of `ProgramOptions`, and `lifeline` of `LaunchSpec`, too. */
export interface JobOptions extends JobProgramOptions {
	/**
	 * What the program reads on standard input, which is empty by default. It is read in chunks, as fast as the program
	 * reads. A program may stop reading early; that is not an error. A stream is destroyed with the job.
	 */
	readonly input?: JobInput | undefined;
	/** Ends the job: it leaves the queue, or its program gets the signal of `stop`, then SIGKILL. */
	readonly signal?: AbortSignal | undefined;
	/**
	 * How long the program may run, counted from its start. To include the time in the queue, use
	 * `AbortSignal.timeout()`.
	 * @default no bound
	 */
	readonly timeoutMs?: number | undefined;
	/** Exit codes that count as success. @default [0] */
	readonly okCodes?: readonly number[] | undefined;
	/** Time from the signal of `stop` to SIGKILL, when the job is stopped early. @default 5 000 ms */
	readonly killAfterMs?: number | undefined;
	/** The signal that asks the program to end, and whom it is sent to: as for workers of a pool. */
	readonly stop?: Pick<StopOptions, "signal" | "to"> | undefined;
	/** Called with each line of standard error. If it throws, the job continues (event `listener.threw`). */
	readonly onStderr?: ((line: string) => void) | undefined;
}

/** The limit of `text()` and `bytes()`. */
export interface OutputLimit {
	/** @default 67 108 864 bytes (64 MiB) */
	readonly maxBytes?: number | undefined;
}

/** The limit of one line. */
export interface LineLimit {
	/** @default 1 048 576 bytes (1 MiB) */
	readonly maxLineBytes?: number | undefined;
}

export const JOB_DEFAULTS: {
	readonly inheritEnv: "minimal";
	readonly timeoutMs: number;
	readonly okCodes: readonly number[];
	readonly killAfterMs: number;
	readonly maxBytes: number;
	readonly maxLineBytes: number;
} = {
	inheritEnv: PROGRAM_DEFAULTS.inheritEnv,
	timeoutMs: Number.POSITIVE_INFINITY,
	okCodes: [0],
	killAfterMs: STOP_DEFAULTS.killAfterMs.value,
	maxBytes: 67_108_864,
	maxLineBytes: 1_048_576,
};

const isCode = wholeNumber(0, 255);
/** A text in Node has at most about 512 million characters. */
const isBytes = wholeNumber(1, 512 * 1024 * 1024);

export const JOB_CHECKS: Readonly<Record<keyof JobOptions, Check>> = {
	cwd: optional(nonEmptyText),
	env: optional(environment),
	inheritEnv: optional(inheritedVariables),
	lifeline: optional(oneOf("auto", "off")),
	input: optional((value) =>
		isInput(value)
			? undefined
			: "must be a string, bytes, or an iterable of these, such as a Readable",
	),
	signal: optional((value) =>
		value instanceof AbortSignal ? undefined : "must be an AbortSignal",
	),
	timeoutMs: optional((value) =>
		value === JOB_DEFAULTS.timeoutMs ? undefined : milliseconds(1)(value),
	),
	okCodes: optional((value) =>
		Array.isArray(value) &&
		value.every((code) => isCode(code) === undefined) &&
		value.length > 0
			? undefined
			: "must be an array of exit codes, whole numbers from 0 to 255",
	),
	killAfterMs: optional(STOP_DEFAULTS.killAfterMs.check),
	stop: () => undefined, // Checked as a group.
	onStderr: optional(aFunction),
};

export const OUTPUT_CHECKS: Readonly<Record<keyof OutputLimit, Check>> = {
	maxBytes: optional(isBytes),
};
export const LINE_CHECKS: Readonly<Record<keyof LineLimit, Check>> = {
	maxLineBytes: optional(isBytes),
};

/** One job: checked, complete. */
export interface ResolvedJob
	extends Pick<JobOptions, "input" | "signal" | "onStderr"> {
	readonly spec: LaunchSpec;
	readonly timeoutMs: number;
	readonly okCodes: readonly number[];
	readonly stop: StopPlan;
}

/**
 * Checks a job and fills in the defaults.
 *
 * @param at what takes it, for messages.
 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`, before anything was started.
 */
export function resolveJob(
	at: string,
	command: readonly string[],
	given: JobOptions,
): ResolvedJob {
	checkOptions(at, { command }, { command: isCommand });
	checkOptions(at, given, JOB_CHECKS);
	const { cwd, env, lifeline, input, signal, onStderr } = given;
	const [executable = "", ...args] = command;
	return {
		spec: {
			...{ executable, args, cwd, env: env && { ...env }, lifeline },
			inheritEnv: given.inheritEnv ?? JOB_DEFAULTS.inheritEnv,
			traceContext: "environment",
			// Its standard output is the job's, and so is its standard input where it has one.
			stdio: input === undefined ? "pool" : "adapter",
		},
		...{ input, signal, onStderr },
		timeoutMs: given.timeoutMs ?? JOB_DEFAULTS.timeoutMs,
		okCodes: [...(given.okCodes ?? JOB_DEFAULTS.okCodes)],
		stop: {
			...resolveGroup(at, "stop", given.stop, JOB_STOP_DEFAULTS),
			killAfterMs: given.killAfterMs ?? JOB_DEFAULTS.killAfterMs,
		},
	};
}

const isCommand: Check = (value) =>
	strings(value) === undefined && (value as readonly string[])[0]
		? undefined
		: "must be an array of strings that begins with the program";

function isInput(value: unknown): boolean {
	if (typeof value === "string") return true;
	if (typeof value !== "object" || value === null) return false;
	return Symbol.asyncIterator in value || Symbol.iterator in value;
}
