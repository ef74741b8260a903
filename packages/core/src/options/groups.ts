import { type Check, type Complete, checkOptions, optional } from "./check.ts";

/** One option of a group: what it is when left out, what it may be, and why. */
export interface Default<Value> {
	readonly value: Value;
	readonly check: Check;
	readonly reason: string;
}

/**
 * A row for each option of a group, from which docs/reference/options.md is generated. `Infinity` means: no bound.
 * The default of an option in `Machine` depends on the machine, so the row has no value.
 */
export type Defaults<Options, Machine extends keyof Options = never> = {
	readonly [Name in keyof Options]-?: Default<
		Name extends Machine ? undefined : Exclude<Options[Name], undefined>
	>;
};

/**
 * Checks one group by its rows and fills it.
 *
 * @param at what takes the options, for messages.
 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`.
 */
export function resolveGroup<
	Options extends object,
	Machine extends keyof Options = never,
>(
	at: string,
	name: string,
	given: Options | undefined,
	defaults: Defaults<Options, Machine>,
): Complete<Omit<Options, Machine>> {
	const checks: Record<string, Check> = {};
	const filled: Record<string, unknown> = {};
	for (const [option, row] of Object.entries<Default<unknown>>(defaults)) {
		const { check, value } = row;
		checks[option] = optional((candidate) =>
			candidate === value ? undefined : check(candidate),
		);
		filled[option] = given?.[option as keyof Options] ?? value;
	}
	checkOptions(`${at} ${name}`, given === undefined ? {} : given, checks);
	return filled as Complete<Omit<Options, Machine>>;
}
