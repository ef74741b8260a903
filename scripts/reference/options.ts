import { globSync } from "node:fs";
import type { Check } from "@snakepit/core/options";
import { root } from "../run.ts";
import {
	type Declared,
	declaredInterface,
	exportedOptionTypes,
	type Property,
} from "./declared.ts";
import type { Left, OptionType } from "./option-type.ts";
import { OPTION_TYPES } from "./option-types.ts";
import { grouped, page, table } from "./page.ts";
import { quantity } from "./quantity.ts";

/** Ends in `Options` and is nothing that a user gives: what an adapter is given with a call. */
const GIVEN_TO_ADAPTERS = "CallOptions";
/** What a timer can hold. */
const LONGEST_MS = 2 ** 31 - 1;

/** docs/reference/options.md */
export function optionsReference(): string {
	assertComplete();
	return page(
		"Options",
		`The options of every function. The unit is in the name: \`…Ms\` are milliseconds, at most 24.8 days (${grouped(LONGEST_MS)} ms), the limit of a timer; \`…Bytes\` are bytes; other numbers are counts. All numbers must be whole, so round computed ones, such as the rest of a deadline. \`undefined\` means the same as leaving an option out. A misspelt option, or a value that is out of range or of the wrong type, is an \`OptionsError\` before anything is started (except in \`encodeValue\`, which does not check). Options of \`@snakepit/core/testing\` are described in their types.`,
		...OPTION_TYPES.map(section),
	);
}

/** @throws Error when an entry exports a type of options that is not in the list. */
function assertComplete(): void {
	const listed = new Set(OPTION_TYPES.map(({ name }) => name));
	const missing = globSync("packages/*/src/{index,inspect,registry}.ts", {
		cwd: root,
	})
		.flatMap(exportedOptionTypes)
		.filter((name) => !listed.has(name) && name !== GIVEN_TO_ADAPTERS);
	if (missing.length > 0)
		throw new Error(
			`scripts/reference/option-types.ts lacks ${missing.join(", ")}.`,
		);
}

function section(type: OptionType): string {
	const declared = declaredInterface(type.file, type.name);
	const rows = declared.properties.map((property) => row(type, property));
	return [
		`${"#".repeat(type.level)} ${type.title}`,
		`${declared.comment} Type: \`${type.name}\`.`,
		table(
			[
				"option",
				"type",
				"default",
				"limits",
				"meaning, *reason for the default*",
			],
			rows,
		),
	].join("\n\n");
}

function row(of: OptionType, property: Property): string[] {
	const { option, type, comment } = property;
	const left = of.defaults[option];
	const byDefault = left?.value === undefined ? "" : shown(option, left);
	// Editors show the comment, not the table.
	const inComment = byDefault.replaceAll("`", "");
	if ((property.default ?? "") !== inComment)
		throw new Error(
			`${of.file}: the comment of ${of.name}.${option} must end with "@default ${inComment}", not "${property.default ?? ""}".`,
		);
	const group = OPTION_TYPES.find(
		({ name, level }) => level === 3 && new RegExp(`\\b${name}\\b`).test(type),
	);
	const meaning = comment === "" && group ? declaredOf(group).comment : comment;
	if (meaning === "")
		throw new Error(`${of.file}: ${of.name}.${option} has no comment.`);
	return [
		`\`${option}\``,
		group === undefined
			? `\`${type}\``
			: `[\`${type}\`](#${headingOf(group.title)})`,
		byDefault,
		limits(option, type, of.checks[option]),
		!left?.reason ? meaning : `${meaning} *${left.reason}*`,
	];
}

function declaredOf({ file, name }: OptionType): Declared {
	return declaredInterface(file, name);
}

function shown(option: string, { value, and }: Left): string {
	const text =
		typeof value !== "number"
			? `\`${JSON.stringify(value)}\``
			: value === Number.POSITIVE_INFINITY
				? "no bound"
				: quantity(option, value);
	return and === undefined ? text : `${text}, ${and}`;
}

/** What the check says to a value of no type that it takes, as far as the type does not say it. */
function limits(
	option: string,
	type: string,
	check: Check | undefined,
): string {
	const wrong = check?.(Symbol("of no type"))?.replace(/^must be /, "") ?? "";
	const range = /^a whole number from (-?\d+) to (\d+)$/.exec(wrong);
	if (range === null)
		return type === "string" ? wrong.replace("a string that is ", "") : "";
	const [least, most] = [Number(range[1]), Number(range[2])];
	if (most === Number.MAX_SAFE_INTEGER)
		return `${quantity(option, least)} or more`;
	if (most !== LONGEST_MS || !option.endsWith("Ms"))
		return `${quantity(option, least)} to ${quantity(option, most)}`;
	const unlimited = check?.(Number.POSITIVE_INFINITY) === undefined;
	return `${quantity(option, least)} to 24.8 days${unlimited ? ", or `Infinity` for no limit" : ""}`;
}

/** As pages name a heading in an address. */
function headingOf(title: string): string {
	return title.toLowerCase().replaceAll(".", "");
}
