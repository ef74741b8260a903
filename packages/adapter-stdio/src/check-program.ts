import {
	type Check,
	nonEmptyText,
	optional,
	wholeNumber,
} from "@snakepit/core/options";
import type { ProgramOptions } from "./program.ts";

const areStrings = (value: unknown): boolean =>
	Array.isArray(value) && value.every((each) => typeof each === "string");

/** What a message may have: a string in Node has at most about 512 million characters. */
const MOST_BYTES = 512 * 1024 * 1024;

export const PROGRAM_CHECKS: Readonly<Record<keyof ProgramOptions, Check>> = {
	command: (value) =>
		typeof value === "function" ||
		(areStrings(value) && (value as string[])[0] !== undefined)
			? undefined
			: "must be an array of strings that begins with the program, or a function that returns one",
	name: optional(nonEmptyText),
	cwd: optional(nonEmptyText),
	env: optional((value) =>
		typeof value === "object" && value !== null
			? undefined
			: "must be an object with string values",
	),
	inheritEnv: optional((value) =>
		value === "all" || value === "minimal" || areStrings(value)
			? undefined
			: 'must be "all", "minimal" or an array of names',
	),
	maxMessageBytes: optional(wholeNumber(1_024, MOST_BYTES)),
};
