import type { ControlScope } from "@snakepit/control/server";
import { OptionsError } from "../contract/errors.ts";
import { type Check, checkOptions, show } from "../options/check.ts";

const ALL_SCOPES: readonly ControlScope[] = ["read", "logs", "act", "call"];
/** To look, and to change nothing. */
const BY_DEFAULT: readonly ControlScope[] = ["read", "logs"];
const VARIABLE = "SNAKEPIT_CONTROL";

/** What other processes of the same user may do with a running run, for example with `snakepit top`. */
export interface RunControlOptions {
	/** `"read"`: the state and events; `"logs"`: what workers print; `"act"`: everything that changes a pool; `"call"`: making calls. */
	readonly scopes: readonly ControlScope[];
}

export const RUN_CONTROL_CHECKS: Readonly<
	Record<keyof RunControlOptions, Check>
> = {
	scopes: (value) =>
		Array.isArray(value) &&
		value.length > 0 &&
		value.every((scope) => ALL_SCOPES.includes(scope))
			? undefined
			: 'must have at least one of "read", "logs", "act" and "call"',
};

/**
 * Resolves the option `control`: what others may do with the run; nothing where they cannot connect. The environment
 * belongs to who starts the program: it can always turn control off, and turns it on where the program says nothing.
 *
 * @param at what takes it, for messages.
 * @throws OptionsError `INVALID_OPTION`, also for another value of `SNAKEPIT_CONTROL` than 0 and 1.
 */
export function controlScopes(
	at: string,
	option: boolean | RunControlOptions | undefined,
	env: NodeJS.ProcessEnv,
): readonly ControlScope[] {
	const variable = env[VARIABLE] ?? "";
	if (!["", "0", "1"].includes(variable))
		throw new OptionsError({
			code: "INVALID_OPTION",
			ran: "no",
			message: `The environment variable ${VARIABLE} must be 0 or 1, got ${show(variable)}.`,
		});
	const byDefault = variable === "1" || env["NODE_ENV"] !== "production";
	const wanted = option ?? byDefault;
	if (typeof wanted !== "boolean")
		checkOptions(`${at} control`, wanted, RUN_CONTROL_CHECKS);
	if (variable === "0" || wanted === false) return [];
	if (wanted === true) return BY_DEFAULT;
	const { scopes } = wanted;
	return ALL_SCOPES.filter((scope) => scopes.includes(scope));
}
