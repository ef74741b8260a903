import { realpathSync } from "node:fs";

type Environment = Readonly<Record<string, string | undefined>>;

/** One variable that a wrapper sets, changes or removes: `undefined` where there is none. */
export interface WrapperChange {
	readonly given: string | undefined;
	readonly made: string | undefined;
}

/** What a wrapper changes in the environment, by the names of variables. */
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

/** Compares what a program was given with what the Python behind it saw. */
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
 * What a process needs that is not started by the wrapper, but forked from one that was: a variable that differs from
 * that of the probed process is left alone.
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
