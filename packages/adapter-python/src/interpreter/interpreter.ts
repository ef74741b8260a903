import type { WrapperChanges } from "./wrapper-changes.ts";

/** A Python that can run the bridge. */
export interface Interpreter {
	/** The absolute path to execute, as it was named or found, so that a wrapper or a shim runs at each start. */
	readonly program: string;
	readonly version: readonly [major: number, minor: number, patch: number];
	/** Why it was chosen, for people. */
	readonly reason: string;
	/** The changes that `program` makes to the environment before Python starts; none if it is Python itself. */
	readonly changes: WrapperChanges;
}

/** What an interpreter reports about itself. */
export interface InterpreterFacts {
	/** `sys.executable`: behind a wrapper or a shim, it is another file than the one that was executed. */
	readonly executable: string;
	readonly version: readonly [major: number, minor: number, patch: number];
	/** `sys.prefix`: in a virtual environment its directory. */
	readonly prefix: string;
	/** Version of the `snakepit_bridge` that it would import; `"unknown"` if it cannot be read, `undefined` if there is none. */
	readonly bridge: string | undefined;
	/** Places for packages that it may not read. */
	readonly unreadable: readonly string[];
	/** Why Python cannot store compiled files of the bridge; `undefined` if they exist, or it can. */
	readonly uncompiled: string | undefined;
	/** Files and directories that determine its report, including some that do not exist. */
	readonly watched: readonly string[];
	/** Its environment, which a wrapper may have changed. */
	readonly environment: Readonly<Record<string, string>>;
}

/** The chosen interpreter, and those that were passed over before. */
export interface Choice
	extends Interpreter,
		Omit<InterpreterFacts, "environment" | "watched"> {
	readonly passedOver: readonly string[];
	/** PYTHONHOME, if this Python uses the packages of that place instead of its own. */
	readonly home?: string | undefined;
}

export const OLDEST_PYTHON = [3, 10] as const;

export function isTooOld(version: Interpreter["version"]): boolean {
	const [major, minor] = version;
	return (
		major < OLDEST_PYTHON[0] ||
		(major === OLDEST_PYTHON[0] && minor < OLDEST_PYTHON[1])
	);
}
