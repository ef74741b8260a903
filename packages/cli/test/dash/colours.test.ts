import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const css = readFileSync(
	new URL("../../web/style/colours.css", import.meta.url),
	"utf8",
);
const colours = new Map(
	[...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
		([, name = "", light = "", dark = ""]) => [name, { light, dark }],
	),
);

/** Relative luminance; Source: WCAG 2.2. */
function luminance(colour: string): number {
	const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
		const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
		return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
	const [dark = 0, light = 0] = [luminance(a), luminance(b)].toSorted(
		(x, y) => x - y,
	);
	return (light + 0.05) / (dark + 0.05);
}

const GROUNDS = ["ground", "surface", "raised"];
/** Text, the grounds on which it stands, and the contrast that WCAG AA asks for. */
const PAIRS: readonly (readonly [string, readonly string[], number])[] = [
	[
		"text",
		[...GROUNDS, "good-ground", "warn-ground", "bad-ground", "active-ground"],
		4.5,
	],
	["muted", [...GROUNDS, "active-ground"], 4.5],
	["active", [...GROUNDS, "active-ground", "bad-ground", "warn-ground"], 4.5],
	["good", ["surface", "good-ground"], 4.5],
	["quiet", ["surface", "quiet-ground"], 4.5],
	["warn", ["surface", "warn-ground"], 4.5],
	["bad", [...GROUNDS, "bad-ground"], 4.5],
	["on-accent", ["accent"], 4.5],
	...Array.from(
		{ length: 8 },
		(_, line) => [`line-${line + 1}`, ["surface"], 3] as const,
	),
];

test.each(
	PAIRS.flatMap(([text, grounds, least]) =>
		grounds.flatMap((ground) =>
			(["light", "dark"] as const).map(
				(theme) => [text, ground, theme, least] as const,
			),
		),
	),
)(
	"%s on %s has enough contrast in the %s theme",
	(text, ground, theme, least) => {
		const [front, back] = [
			colours.get(text)?.[theme],
			colours.get(ground)?.[theme],
		];
		expect(front).toBeDefined();
		expect(back).toBeDefined();
		expect(contrast(front ?? "", back ?? "")).toBeGreaterThanOrEqual(least);
	},
);
