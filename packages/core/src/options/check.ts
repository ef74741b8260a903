import { OptionsError } from "../contract/errors.ts";

/** Checks one value; returns what is wrong with it, or `undefined`. */
export type Check = (value: unknown) => string | undefined;

/** A group of options when what was left out is filled in. */
export type Complete<Options> = {
	readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined>;
};

/** A whole number within bounds, both included. */
export const wholeNumber =
	(least: number, most: number = Number.MAX_SAFE_INTEGER): Check =>
	(value) =>
		typeof value === "number" &&
		Number.isSafeInteger(value) &&
		value >= least &&
		value <= most
			? undefined
			: `must be a whole number from ${least} to ${most}`;

/** Milliseconds, from `least` up to what a timer can hold (24.8 days). */
export const milliseconds = (least: number): Check =>
	wholeNumber(least, 2 ** 31 - 1);

/** One of a few words. */
export const oneOf =
	(...words: readonly string[]): Check =>
	(value) =>
		words.includes(value as string)
			? undefined
			: `must be ${words.map((word) => `"${word}"`).join(" or ")}`;

export const aFunction: Check = (value) =>
	typeof value === "function" ? undefined : "must be a function";

export const nonEmptyText: Check = (value) =>
	typeof value === "string" && value !== ""
		? undefined
		: "must be a string that is not empty";

export const strings: Check = (value) =>
	Array.isArray(value) && value.every((each) => typeof each === "string")
		? undefined
		: "must be an array of strings";

export const anObject: Check = (value) =>
	typeof value === "object" && value !== null && !Array.isArray(value)
		? undefined
		: "must be an object";

/** Variables by name; one that is `undefined` is removed. */
export const environment: Check = (value) =>
	anObject(value) === undefined &&
	Object.values(value as object).every((each) =>
		["string", "undefined"].includes(typeof each),
	)
		? undefined
		: "must be an object with string values";

/** Which variables of this program another one inherits. */
export const inheritedVariables: Check = (value) =>
	value === "all" || value === "minimal" || strings(value) === undefined
		? undefined
		: 'must be "all", "minimal" or an array of names';

/** Lets a check pass when the option is left out. */
export const optional =
	(check: Check): Check =>
	(value) =>
		value === undefined ? undefined : check(value);

/**
 * Checks a group of options against a table of checks.
 *
 * @param at where the group stands, for messages: `createPool` or `createPool queue`.
 * @throws OptionsError `UNKNOWN_OPTION` with the nearest known name, or `INVALID_OPTION` with what is expected.
 */
export function checkOptions(
	at: string,
	given: unknown,
	table: Readonly<Record<string, Check>>,
): void {
	if (anObject(given) !== undefined) {
		throw new OptionsError({
			code: "INVALID_OPTION",
			message: `${at}: the options must be an object, got ${show(given)}.`,
		});
	}
	for (const name of Object.keys(given as object)) {
		if (Object.hasOwn(table, name)) continue;
		const near = nearest(name, Object.keys(table));
		throw new OptionsError({
			code: "UNKNOWN_OPTION",
			message: `${at}: there is no option "${name}".${near === undefined ? ` Known: ${Object.keys(table).join(", ")}.` : ` Did you mean "${near}"?`}`,
		});
	}
	// Every call of a pool comes through here: for..in makes no array of the table.
	for (const name in table) {
		const value = (given as Record<string, unknown>)[name];
		const wrong = table[name]?.(value);
		if (wrong !== undefined) {
			throw new OptionsError({
				code: "INVALID_OPTION",
				message: `${at}: "${name}" ${wrong}, got ${show(value)}.`,
			});
		}
	}
}

/** Shows a value in a message, shortened: of an object or array what is in it, one level deep. */
export function show(value: unknown): string {
	if (typeof value === "string")
		return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
	if (typeof value !== "object" || value === null) return kindOf(value);
	const maker: unknown = Object.getPrototypeOf(value)?.constructor;
	if (typeof maker === "function" && maker !== Object && maker !== Array)
		return `an instance of ${maker.name}`;
	const inside = Array.isArray(value)
		? value.slice(0, SHOWN_MEMBERS).map(kindOf)
		: Object.entries(value)
				.slice(0, SHOWN_MEMBERS)
				.map(([name, member]) => `${name}: ${kindOf(member)}`);
	if (inside.length < Object.keys(value).length) inside.push("…");
	return Array.isArray(value)
		? `[${inside.join(", ")}]`
		: `{${inside.join(", ")}}`;
}

const SHOWN_MEMBERS = 6;

/** Of members the kind alone, and no text: it may be a secret, as in `env`. */
function kindOf(value: unknown): string {
	switch (typeof value) {
		case "string":
			return "a string";
		case "function":
			return "a function";
		case "object":
			return value === null
				? "null"
				: Array.isArray(value)
					? "an array"
					: "an object";
		default:
			return String(value);
	}
}

/** The known name within two edits of `name`, if there is one. */
export function nearest(
	name: string,
	known: readonly string[],
): string | undefined {
	const ranked = known
		.map((candidate) => ({
			candidate,
			distance: editDistance(name.toLowerCase(), candidate.toLowerCase()),
		}))
		.sort((a, b) => a.distance - b.distance);
	const best = ranked[0];
	return best !== undefined && best.distance <= 2 ? best.candidate : undefined;
}

function editDistance(a: string, b: string): number {
	let row = Array.from({ length: b.length + 1 }, (_, column) => column);
	for (let i = 1; i <= a.length; i++) {
		const next = [i];
		for (let j = 1; j <= b.length; j++) {
			const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
			next.push(
				Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1),
			);
		}
		row = next;
	}
	return row[b.length] ?? 0;
}
