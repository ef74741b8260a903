import type { LaunchSpec, WorkerSlot } from "../contract/launch.ts";
import {
	type Check,
	environment,
	inheritedVariables,
	nonEmptyText,
	optional,
	strings,
} from "./check.ts";

/** The program of an adapter's workers. */
export interface ProgramOptions {
	/** The program and its arguments; a function of the slot if workers differ. No shell is involved. */
	readonly command:
		| readonly string[]
		| ((slot: WorkerSlot) => readonly string[]);
	/** Appears in names of pools and workers. Lower case; 1 to 40 letters, digits, dots, dashes or underscores. */
	readonly name?: string | undefined;
	/** The working directory; by default, this program's. */
	readonly cwd?: string | undefined;
	/** Added to the inherited variables; `undefined` removes one. */
	readonly env?: Readonly<Record<string, string | undefined>> | undefined;
	/**
	 * Which variables of this program's environment the worker inherits: `"minimal"` (`PATH`, `HOME`, the locale,
	 * certificates, proxies without a password and the like, no secrets), a list of further names, or `"all"`.
	 * @default "minimal"
	 */
	readonly inheritEnv?: "all" | "minimal" | readonly string[] | undefined;
}

export const PROGRAM_DEFAULTS = { inheritEnv: "minimal" } as const;

/** For `checkOptions`. */
export const PROGRAM_CHECKS: Readonly<Record<keyof ProgramOptions, Check>> = {
	command: (value) =>
		typeof value === "function" ||
		(strings(value) === undefined && (value as string[]).length > 0)
			? undefined
			: "must be an array of strings that begins with the program, or a function that returns one",
	name: optional(nonEmptyText),
	cwd: optional(nonEmptyText),
	env: optional(environment),
	inheritEnv: optional(inheritedVariables),
};

/** How the program of a slot is started, for an adapter's `launch`. */
export function programSpec(
	{ command, cwd, env, inheritEnv }: ProgramOptions,
	slot: WorkerSlot,
): LaunchSpec {
	const [executable = "", ...args] =
		typeof command === "function" ? command(slot) : command;
	return {
		...{ executable, args, cwd, env },
		inheritEnv: inheritEnv ?? PROGRAM_DEFAULTS.inheritEnv,
	};
}

/** The same, for a program that converses on its standard input and output. */
export function stdioSpec(
	options: ProgramOptions,
	slot: WorkerSlot,
): LaunchSpec {
	return {
		...programSpec(options, slot),
		stdio: "adapter",
		traceContext: "environment",
	};
}
