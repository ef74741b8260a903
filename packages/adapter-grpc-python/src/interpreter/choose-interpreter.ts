import { StartError } from "@snakepit/core";
import {
	type Interpreter,
	type InterpreterFacts,
	isTooOld,
	OLDEST_PYTHON,
} from "./interpreter.ts";
import type {
	InterpreterSource,
	SearchSetting,
} from "./interpreter-sources.ts";
import { probeInterpreter } from "./probe.ts";

/** The interpreter that was chosen, and what was passed over on the way to it. */
export interface Choice extends Interpreter {
	readonly hasBridge: boolean;
	readonly passedOver: readonly string[];
}

/**
 * Takes the first interpreter that runs.
 *
 * @throws StartError `PYTHON_NOT_FOUND` with everything that was tried, `PYTHON_TOO_OLD`.
 */
export async function chooseInterpreter(
	sources: readonly InterpreterSource[],
	setting: SearchSetting,
	signal: AbortSignal,
): Promise<Choice> {
	const passedOver: string[] = [];
	for (const source of sources) {
		const lead = await source(signal);
		if (lead.kind === "nothing") {
			passedOver.push(lead.why);
			continue;
		}
		const facts = await probeInterpreter(lead.executable, {
			...setting,
			signal,
		});
		if (typeof facts === "string") {
			passedOver.push(`${facts} (tried since ${lead.reason})`);
			continue;
		}
		if (isTooOld(facts.version)) throw tooOld(facts, lead.reason);
		return { ...facts, reason: lead.reason, passedOver };
	}
	throw new StartError({
		code: "PYTHON_NOT_FOUND",
		ran: "no",
		message: `No Python was found to run the workers. Tried:\n${passedOver.map((line) => `  - ${line}`).join("\n")}\nInstall Python ${OLDEST_PYTHON.join(".")} or newer, or name one by the adapter's option "python".`,
	});
}

/** @throws StartError `BRIDGE_MISSING` with the command that installs it. */
export function requireBridge(choice: Choice): void {
	if (choice.hasBridge) return;
	throw new StartError({
		code: "BRIDGE_MISSING",
		ran: "no",
		message: `Python ${choice.version.join(".")} at ${choice.executable} has no snakepit_bridge (chosen because ${choice.reason}). Install it there:\n  ${choice.executable} -m pip install snakepit-bridge\n(where uv made the environment: uv pip install --python ${choice.executable} snakepit-bridge),\nor name another Python by the adapter's option "python", or have it among the requirements of a pythonEnvironment().`,
	});
}

/** One line about the choice, for events. */
export function choiceNote(choice: Choice): string {
	const passed =
		choice.passedOver.length === 0
			? ""
			: `; passed over: ${choice.passedOver.join("; ")}`;
	return `Workers run on Python ${choice.version.join(".")} at ${choice.executable}, because ${choice.reason}${passed}.`;
}

function tooOld(facts: InterpreterFacts, reason: string): StartError {
	return new StartError({
		code: "PYTHON_TOO_OLD",
		ran: "no",
		message: `${facts.executable} is Python ${facts.version.join(".")}, and snakepit-bridge needs ${OLDEST_PYTHON.join(".")} or newer (chosen because ${reason}). Name a newer one by the adapter's option "python".`,
	});
}
