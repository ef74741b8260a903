/** A Python that can run the bridge. */
export interface Interpreter {
	/** What `sys.executable` says: a shim or a name in `PATH` is gone through already. */
	readonly executable: string;
	readonly version: readonly [major: number, minor: number, patch: number];
	/** Why it was this one, for people. */
	readonly reason: string;
}

/** What an interpreter says of itself. */
export interface InterpreterFacts {
	readonly executable: string;
	readonly version: readonly [major: number, minor: number, patch: number];
	/** Whether `snakepit_bridge` can be imported; only looked for, not imported. */
	readonly hasBridge: boolean;
}

export const OLDEST_PYTHON = [3, 10] as const;

export function isTooOld(version: Interpreter["version"]): boolean {
	const [major, minor] = version;
	return (
		major < OLDEST_PYTHON[0] ||
		(major === OLDEST_PYTHON[0] && minor < OLDEST_PYTHON[1])
	);
}
