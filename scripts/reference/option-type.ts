import type { Check } from "../../packages/core/src/options/check.ts";
import type { Default } from "../../packages/core/src/options/groups.ts";

/** What an option is when it is left out, and why. */
export interface Left {
	readonly value: unknown;
	/** Said beside the value. */
	readonly and?: string;
	readonly reason?: string;
}

/** One interface of options, and what the code that takes it knows of them. */
export interface OptionType {
	/** What takes it, or the option that it is the value of. */
	readonly title: string;
	readonly level: 2 | 3;
	readonly file: string;
	readonly name: string;
	readonly defaults: Readonly<Record<string, Left>>;
	readonly checks: Readonly<Record<string, Check>>;
}

/** What a function takes. */
export function taken(
	title: string,
	name: string,
	file: string,
	checks: OptionType["checks"],
	defaults: OptionType["defaults"] = {},
): OptionType {
	return { title, level: 2, file, name, defaults, checks };
}

/** The value of one option. */
export function group(...of: Parameters<typeof taken>): OptionType {
	return { ...taken(...of), level: 3 };
}

/** Groups of options with defaults: by title, the interface and its rows. */
export function groupsOf(
	file: string,
	groups: Readonly<
		Record<
			string,
			readonly [string, Readonly<Record<string, Default<unknown>>>]
		>
	>,
): readonly OptionType[] {
	return Object.entries(groups).map(([title, [name, rows]]) => {
		const checks = Object.entries(rows).map(([option, { check }]) => [
			option,
			check,
		]);
		return group(title, name, file, Object.fromEntries(checks), rows);
	});
}

/** Values without reasons. */
export function plainly(
	values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, Left>> {
	return Object.fromEntries(
		Object.entries(values).map(([option, value]) => [option, { value }]),
	);
}
