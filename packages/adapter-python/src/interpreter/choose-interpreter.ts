import {
	accessSync,
	constants,
	lstatSync,
	readlinkSync,
	realpathSync,
} from "node:fs";
import { userInfo } from "node:os";
import { delimiter, dirname, join, resolve, sep } from "node:path";
import { StartError } from "@snakepit/core";
import type {
	PythonStartError,
	PythonStartErrorCode,
} from "../start-error-codes.ts";
import {
	cloneNote,
	fittingBridge,
	isSameRelease,
	releaseMismatch,
} from "../worker/worker-facts.ts";
import {
	type Choice,
	type InterpreterFacts,
	isTooOld,
	OLDEST_PYTHON,
} from "./interpreter.ts";
import type {
	FoundLead,
	InterpreterSource,
	SearchSetting,
	UnusableLead,
} from "./interpreter-sources.ts";
import {
	isWrapper,
	probeInterpreter,
	type RememberedFacts,
	wrapperChanges,
} from "./probe.ts";

/**
 * Chooses the first interpreter that is named, or that runs.
 *
 * @param remembered where the facts from earlier programs are; without it, each interpreter is run.
 * @throws StartError `PYTHON_UNUSABLE` where one is named and cannot be used, `PYTHON_NOT_FOUND`, `PYTHON_TOO_OLD`;
 * each with all that was passed over before.
 */
export async function chooseInterpreter(
	sources: readonly InterpreterSource[],
	setting: SearchSetting,
	signal: AbortSignal,
	remembered?: RememberedFacts,
): Promise<Choice> {
	const passedOver: string[] = [];
	for (const source of sources) {
		const lead = await source(signal);
		if (lead.kind === "nothing") {
			passedOver.push(lead.why);
			continue;
		}
		if (lead.kind === "unusable") throw unusable(lead, passedOver);
		const askedMs = Date.now();
		const known = remembered?.read(lead.program, setting);
		const facts =
			known ?? (await probeInterpreter(lead.program, { ...setting, signal }));
		const problem =
			typeof facts === "string" ? facts : otherPython(lead, facts);
		if (problem !== undefined) {
			if (lead.standing === "named")
				throw unusable(
					{ ...lead, kind: "unusable", problem, fault: "fails" },
					passedOver,
					setting.env,
				);
			passedOver.push(`${problem} (tried since ${lead.reason})`);
			continue;
		}
		const { environment, watched, ...said } = facts as InterpreterFacts;
		const { program, reason } = lead;
		const wraps = isWrapper(program, said.executable);
		const changes = wraps
			? wrapperChanges(setting.env, environment)
			: new Map();
		const home = usedHome(setting.env["PYTHONHOME"], said);
		const choice = { ...said, program, reason, changes, passedOver, home };
		if (isTooOld(choice.version)) throw tooOld(choice);
		// Only interpreters that can run workers are remembered: a refusal is checked again each time, and so are the effects
		// of a wrapper.
		if (
			known === undefined &&
			!wraps &&
			said.bridge !== undefined &&
			isSameRelease(said.bridge)
		)
			remembered?.write(
				program,
				setting,
				{ ...said, environment, watched },
				askedMs,
			);
		return choice;
	}
	throw new StartError<PythonStartErrorCode>({
		code: "PYTHON_NOT_FOUND",
		message: `No Python was found to run the workers. Tried:\n${passedOver.map((line) => `  - ${line}`).join("\n")}\nInstall Python ${OLDEST_PYTHON.join(".")} or newer, or set the adapter's option "python".`,
	});
}

/** Says if the Python of a virtual environment runs as a different one, as it does without `pyvenv.cfg`. */
function otherPython(
	{ environment }: FoundLead,
	{ prefix }: InterpreterFacts,
): string | undefined {
	if (environment === undefined || isSame(prefix, environment))
		return undefined;
	const configuration = join(environment, "pyvenv.cfg");
	const problem = reachProblem(reach(configuration));
	return `its Python uses the packages of ${prefix} instead${problem === "" ? ` (${configuration} can be read; is PYTHONHOME set?)` : `, because ${problem}`}`;
}

/** PYTHONHOME, if the Python uses the packages of that location; that of a virtual environment uses its own. */
function usedHome(
	home: string | undefined,
	{ prefix }: Pick<InterpreterFacts, "prefix">,
): string | undefined {
	const [location = ""] = (home ?? "").split(delimiter);
	return location !== "" && isSame(prefix, location) ? home : undefined;
}

function isSame(path: string, other: string): boolean {
	try {
		return realpathSync(path) === realpathSync(other);
	} catch {
		return false;
	}
}

/** One line for events, if each start compiles the bridge again. */
export function compileNotes({
	program,
	uncompiled,
}: Pick<Choice, "program" | "uncompiled">): readonly string[] {
	return uncompiled === undefined
		? []
		: [
				`Each start of a worker compiles snakepit_bridge again, which makes it slower: there are no compiled files, and ${uncompiled}. Compile it once, as a user who can write there: ${program} -c "import compileall, snakepit_bridge; compileall.compile_dir(snakepit_bridge.__path__[0])"`,
			];
}

/** One line about the choice, for events. */
export function choiceNote(choice: Choice): string {
	const passed =
		choice.passedOver.length === 0
			? ""
			: `; passed over: ${choice.passedOver.join("; ")}`;
	const { program, executable } = choice;
	const behind = executable === program ? "" : ` (${executable})`;
	return `Workers run on Python ${choice.version.join(".")} at ${program}${behind}, because ${choice.reason}${passed}.`;
}

/** The error for a named interpreter that cannot be used. @param env its variables, some of which make any Python fail. */
function unusable(
	lead: UnusableLead,
	passedOver: readonly string[],
	env: Readonly<Record<string, string | undefined>> = {},
): PythonStartError {
	const { PYTHONHOME: home, PYTHONPATH: path } = env;
	const ways = [
		...(home ? [withoutHome(home)] : []),
		...(path ? [withoutPath(path)] : []),
		...remedies(lead),
	];
	return new StartError<PythonStartErrorCode>({
		code: "PYTHON_UNUSABLE",
		message: `The workers' Python cannot be used: ${lead.reason}, but ${lead.problem}. Snakepit does not fall back to another one. ${ways.join(", ")}, or set the adapter's option "python" to another Python.${passedOverText(passedOver)}`,
	});
}

function withoutHome(home: string): string {
	return `Leave PYTHONHOME (${home}) out of its environment (env: { PYTHONHOME: undefined })`;
}

function withoutPath(path: string): string {
	return `Rename what has the name of a module of Python in PYTHONPATH (${path}), or leave PYTHONPATH out of its environment (env: { PYTHONPATH: undefined })`;
}

function remedies({
	reason,
	fault,
	location = "",
	environment,
}: UnusableLead): readonly string[] {
	if (fault === "not_executable")
		return [`Make it executable (chmod +x ${location})`];
	if (fault === "directory")
		return [
			`Name the program in it (for an environment: ${location}/bin/python)`,
		];
	if (fault === "forbidden") {
		const isWithin =
			environment !== undefined && `${location}/`.startsWith(`${environment}/`);
		return isWithin
			? [
					`Let its owner open it (chmod -R a+rX ${environment})`,
					"create one where this user may read",
				]
			: [
					`Move the environment and its Python to a path that this user may enter, not below ${location}`,
				];
	}
	if (environment === undefined)
		return [fault === "missing" ? "Install it there" : "Repair it"];
	const unset = reason.startsWith("VIRTUAL_ENV")
		? "unset VIRTUAL_ENV"
		: `remove ${environment}`;
	return [
		`Recreate the environment (python3 -m venv --clear ${environment})`,
		unset,
	];
}

function tooOld(choice: Choice): PythonStartError {
	return new StartError<PythonStartErrorCode>({
		code: "PYTHON_TOO_OLD",
		message: `${choice.program} is Python ${choice.version.join(".")}, and snakepit-bridge needs ${OLDEST_PYTHON.join(".")} or newer (chosen because ${choice.reason}). Set the adapter's option "python" to a newer one.${passedOverText(choice.passedOver)}`,
	});
}

/**
 * Refuses an interpreter that has no bridge, or one of another release.
 *
 * @param extra what the bridge needs for the transport, for the commands.
 * @throws StartError `BRIDGE_MISSING` with the command that installs it, `VERSION_MISMATCH` with the commands that bring
 *   the packages together, `PYTHON_UNUSABLE` where the bridge may be in a place that this user may not read.
 */
export function requireBridge(choice: Choice, extra?: string): void {
	const { bridge, program, reason, version, unreadable, home } = choice;
	const python = `Python ${version.join(".")} at ${program}`;
	const before = passedOverText(choice.passedOver);
	const fitting = fittingBridge(extra);
	const isKnown = bridge !== undefined && bridge !== "unknown";
	if (!isKnown && unreadable.length > 0) {
		throw new StartError<PythonStartErrorCode>({
			code: "PYTHON_UNUSABLE",
			message: `${python} cannot find snakepit_bridge (chosen because ${reason}), and ${currentUser()} may not read ${unreadable.join(", ")}, where it may be. Give that user the right to read it (as its owner: chmod -R a+rX), keep it where that user may read, or set the adapter's option "python" to another Python.${before}`,
		});
	}
	if (bridge === undefined) {
		throw new StartError<PythonStartErrorCode>({
			code: "BRIDGE_MISSING",
			message: `${python} has no snakepit_bridge (chosen because ${reason}). ${home ? `With PYTHONHOME, it uses the packages below ${home}. ${withoutHome(home)}. Otherwise, install it there:` : "Install it there:"}\n  ${program} -m pip install "${fitting}"\n(where uv made the environment: uv pip install --python ${program} "${fitting}"),${cloneNote(extra)}\nor set the adapter's option "python" to another Python, or list it in the requirements of a pythonEnvironment().${before}`,
		});
	}
	if (!isSameRelease(bridge)) {
		const who = `${python} (chosen because ${reason})`;
		throw releaseMismatch(who, bridge, `${program} -m pip install`, {
			...(extra !== undefined && { extra }),
			more: before,
		});
	}
}

function passedOverText(passedOver: readonly string[]): string {
	return passedOver.length === 0
		? ""
		: `\nPassed over before it:\n${passedOver.map((line) => `  - ${line}`).join("\n")}`;
}

/** Where a path leads for the user of this program. */
export type Reach =
	| { readonly kind: "reached"; readonly path: string }
	/** It does not exist: `at` is the first part of `path` that does not exist. */
	| { readonly kind: "missing"; readonly path: string; readonly at: string }
	/** This user may not enter the directory `at`, or may not use the file `at` as wanted. */
	| { readonly kind: "forbidden"; readonly at: string };

/** As many links as Linux follows. */
const MAX_LINKS = 40;

/**
 * Follows a path link by link, because the system only reports that some part of the path is not accessible.
 *
 * @param wanted the access that is needed at its end: `constants.R_OK`, `constants.X_OK`.
 */
export function reach(path: string, wanted: number = constants.R_OK): Reach {
	let at: string = sep;
	let links = 0;
	const rest = partsOf(resolve(path));
	for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
		const next = resolve(at, part);
		let isLink: boolean;
		try {
			isLink = lstatSync(next).isSymbolicLink();
		} catch (error) {
			return isRefusal(error)
				? { kind: "forbidden", at }
				: { kind: "missing", path, at: next };
		}
		if (!isLink) at = next;
		else {
			if (++links > MAX_LINKS) return { kind: "missing", path, at: next };
			rest.unshift(...partsOf(resolve(dirname(next), readlinkSync(next))));
			at = sep;
		}
	}
	try {
		accessSync(at, wanted);
		return { kind: "reached", path: at };
	} catch (error) {
		return { kind: isRefusal(error) ? "forbidden" : "missing", path, at };
	}
}

/** Says in a few words why a path cannot be used; empty if it can. */
export function reachProblem(reach: Reach): string {
	switch (reach.kind) {
		case "reached":
			return "";
		case "missing":
			return reach.at === reach.path
				? `there is no ${reach.path}`
				: `there is no ${reach.path} (${reach.at} does not exist)`;
		case "forbidden":
			return `${currentUser()} has no access to ${reach.at}`;
	}
}

/** This program's user, for messages: `user nobody (uid 65534)`. */
export function currentUser(): string {
	try {
		const { username, uid } = userInfo();
		return `user ${username} (uid ${uid})`;
	} catch {
		// In a container a user often has no entry in the list of users.
		return `the user with uid ${process.getuid?.()}`;
	}
}

function partsOf(path: string): string[] {
	return path.split(sep).filter((part) => part !== "");
}

function isRefusal(error: unknown): boolean {
	const { code } = error as NodeJS.ErrnoException;
	return code === "EACCES" || code === "EPERM";
}
