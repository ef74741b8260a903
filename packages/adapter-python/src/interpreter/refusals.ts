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
} from "../worker/same-release.ts";
import { type Choice, OLDEST_PYTHON } from "./interpreter.ts";
import type { UnusableLead } from "./interpreter-sources.ts";
import { currentUser } from "./reach.ts";

/** The error for a named interpreter that cannot be used. @param env its variables, some of which make any Python fail. */
export function unusable(
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
		ran: "no",
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
	place = "",
	environment,
}: UnusableLead): readonly string[] {
	if (fault === "not_executable")
		return [`Make it executable (chmod +x ${place})`];
	if (fault === "directory")
		return [`Name the program in it (for an environment: ${place}/bin/python)`];
	if (fault === "forbidden") {
		const isWithin =
			environment !== undefined && `${place}/`.startsWith(`${environment}/`);
		return isWithin
			? [
					`Let its owner open it (chmod -R a+rX ${environment})`,
					"create one where this user may read",
				]
			: [
					`Move the environment and its Python to a path that this user may enter, not below ${place}`,
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

export function tooOld(choice: Choice): PythonStartError {
	return new StartError<PythonStartErrorCode>({
		code: "PYTHON_TOO_OLD",
		ran: "no",
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
			ran: "no",
			message: `${python} cannot find snakepit_bridge (chosen because ${reason}), and ${currentUser()} may not read ${unreadable.join(", ")}, where it may be. Give that user the right to read it (as its owner: chmod -R a+rX), keep it where that user may read, or set the adapter's option "python" to another Python.${before}`,
		});
	}
	if (bridge === undefined) {
		throw new StartError<PythonStartErrorCode>({
			code: "BRIDGE_MISSING",
			ran: "no",
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
