import { realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { StartError } from "@snakepit/core";
import type { PythonStartErrorCode } from "../start-error-codes.ts";
import { isSameRelease } from "../worker/same-release.ts";
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
} from "./interpreter-sources.ts";
import { probeInterpreter } from "./probe.ts";
import { reach, reachProblem } from "./reach.ts";
import { tooOld, unusable } from "./refusals.ts";
import type { RememberedFacts } from "./remembered-facts.ts";
import { isWrapper, wrapperChanges } from "./wrapper-changes.ts";

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
		ran: "no",
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

/** PYTHONHOME, if the Python uses the packages of that place; that of a virtual environment uses its own. */
function usedHome(
	home: string | undefined,
	{ prefix }: Pick<InterpreterFacts, "prefix">,
): string | undefined {
	const [place = ""] = (home ?? "").split(delimiter);
	return place !== "" && isSame(prefix, place) ? home : undefined;
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
