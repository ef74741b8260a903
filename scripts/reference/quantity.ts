import { grouped } from "./page.ts";

const UNITS = {
	Ms: {
		one: "ms",
		many: "ms",
		larger: [
			[86_400_000, "days"],
			[3_600_000, "h"],
			[60_000, "min"],
		],
	},
	Bytes: {
		one: "byte",
		many: "bytes",
		larger: [
			[1024 ** 3, "GiB"],
			[1024 ** 2, "MiB"],
			[1024, "KiB"],
		],
	},
} as const;

/** A number with the unit that the name of its option says, and in a larger one where it is so many of that. */
export function quantity(option: string, value: number): string {
	const unit = unitOf(option);
	if (unit === undefined) return grouped(value);
	const { one, many, larger } = unit;
	const fitting = larger.find(([size]) => value > 0 && value % size === 0);
	const also =
		fitting === undefined ? "" : ` (${value / fitting[0]} ${fitting[1]})`;
	return `${grouped(value)} ${value === 1 ? one : many}${also}`;
}

function unitOf(
	option: string,
): (typeof UNITS)[keyof typeof UNITS] | undefined {
	if (option.endsWith("Ms")) return UNITS.Ms;
	return option.endsWith("Bytes") ? UNITS.Bytes : undefined;
}
