import { realpathSync } from "node:fs";

type Environment = Readonly<Record<string, string | undefined>>;

/** One variable that a wrapper sets, changes or removes; `undefined` stands for a missing one. */
export interface WrapperChange {
	readonly given: string | undefined;
	readonly made: string | undefined;
}

/** The changes of a wrapper to the environment, by the names of variables. */
export type WrapperChanges = ReadonlyMap<string, WrapperChange>;

/** A shell and Python set these for themselves. */
const THEIR_OWN: ReadonlySet<string> = new Set([
	"_",
	"LC_CTYPE",
	"OLDPWD",
	"PWD",
	"SHLVL",
]);

/** Whether the executed file is not the one that Python reports. */
export function isWrapper(program: string, executable: string): boolean {
	try {
		return realpathSync(program) !== realpathSync(executable);
	} catch {
		return true;
	}
}

/** Compares the environment that a program got with the one that the Python behind it saw. */
export function wrapperChanges(
	given: Environment,
	seen: Environment,
): WrapperChanges {
	const names = new Set([...Object.keys(given), ...Object.keys(seen)]);
	const changes = [...names].flatMap((name) => {
		const before = given[name];
		const made = seen[name];
		// The two languages read bytes that are not UTF-8 differently.
		const isText = made === undefined || made.isWellFormed();
		return before === made || !isText || THEIR_OWN.has(name)
			? []
			: [[name, { given: before, made }] as const];
	});
	return new Map(changes);
}

/**
 * The variables that a process needs if it is not started by the wrapper, but forked from a process that was. A
 * variable that differs from the probed process's one is left alone.
 */
export function missedChanges(
	changes: WrapperChanges,
	environment: Environment,
): Environment {
	return Object.fromEntries(
		[...changes]
			.filter(([name, { given }]) => environment[name] === given)
			.map(([name, { made }]) => [name, made]),
	);
}
