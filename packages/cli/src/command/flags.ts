import { InvalidArgumentError } from "commander";

/** Flags that several commands have. */
export const DATA_DIR: [flags: string, description: string] = [
	"--data-dir <path>",
	"where the ledger is; the user's state directory by default",
];
export const JSON_FLAG: [flags: string, description: string] = [
	"--json",
	"print JSON",
];

/** Parses a number of a flag. */
export function wholeNumber(text: string): number {
	if (!/^\d{1,9}$/.test(text))
		throw new InvalidArgumentError("It is not a whole number.");
	return Number(text);
}

export function positiveNumber(text: string): number {
	const number = wholeNumber(text);
	if (number === 0) throw new InvalidArgumentError("It must be 1 or more.");
	return number;
}

/** 0 is any free one. */
export function portNumber(text: string): number {
	const number = wholeNumber(text);
	if (number > 65_535)
		throw new InvalidArgumentError("A port is at most 65535.");
	return number;
}
