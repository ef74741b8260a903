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

/** So many milliseconds are in each unit of a time that is given as `10m`. */
const UNITS_MS: Readonly<Record<string, number>> = {
	s: 1_000,
	m: 60_000,
	h: 3_600_000,
	d: 86_400_000,
};

/**
 * Parses a moment of a flag, as milliseconds since the Unix epoch: how long ago it was (`90s`, `10m`, `2h`, `3d`), or a
 * day or a time, in this time zone where none is named.
 */
export function moment(text: string): number {
	const [, amount, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
	if (amount !== undefined)
		return Date.now() - Number(amount) * (UNITS_MS[unit] ?? 0);
	const [, day, time = "T00:00"] =
		/^(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)?)?$/.exec(
			text,
		) ?? [];
	const wallMs = day === undefined ? Number.NaN : Date.parse(day + time);
	if (Number.isNaN(wallMs))
		throw new InvalidArgumentError(
			"Give how long ago, as 90s, 10m, 2h or 3d, or a day or a time, as 2026-05-01 or 2026-05-01T13:30.",
		);
	return wallMs;
}

/** 0 is any free one. */
export function portNumber(text: string): number {
	const number = wholeNumber(text);
	if (number > 65_535)
		throw new InvalidArgumentError("A port is at most 65535.");
	return number;
}
