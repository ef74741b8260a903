import type { WrapperChanges } from "./wrapper-changes.ts";

/** A Python that can run the bridge. */
export interface Interpreter {
	/** What is executed, absolute: as it was named or found, so that a wrapper or a shim does its part at each start. */
	readonly program: string;
	readonly version: readonly [major: number, minor: number, patch: number];
	/** Why it was this one, for people. */
	readonly reason: string;
	/** What `program` changes in the environment before Python starts; nothing where it is Python itself. */
	readonly changes: WrapperChanges;
}

/** What an interpreter reports about itself. */
export interface InterpreterFacts {
	/** `sys.executable`: behind a wrapper or a shim, it is another file than the one that was executed. */
	readonly executable: string;
	readonly version: readonly [major: number, minor: number, patch: number];
	/** `sys.prefix`: in a virtual environment its directory. */
	readonly prefix: string;
	/** Version of the `snakepit_bridge` that it would import, `"unknown"` where that cannot be read; `undefined` where it finds none. */
	readonly bridge: string | undefined;
	/** Where it would look for packages, and may not read. */
	readonly unreadable: readonly string[];
	/** Why Python may not keep compiled files of the bridge, where there are none; `undefined` where there are, or where it may. */
	readonly uncompiled: string | undefined;
	/** Files and directories, also such that do not exist, that decide what it reports. */
	readonly watched: readonly string[];
	/** Its environment: a wrapper may have changed what it was given. */
	readonly environment: Readonly<Record<string, string>>;
}

/** The interpreter that was chosen, and what was passed over on the way to it. */
export interface Choice
	extends Interpreter,
		Omit<InterpreterFacts, "environment" | "watched"> {
	readonly passedOver: readonly string[];
}

export const OLDEST_PYTHON = [3, 10] as const;

export function isTooOld(version: Interpreter["version"]): boolean {
	const [major, minor] = version;
	return (
		major < OLDEST_PYTHON[0] ||
		(major === OLDEST_PYTHON[0] && minor < OLDEST_PYTHON[1])
	);
}
