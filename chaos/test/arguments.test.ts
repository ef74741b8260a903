import { expect, test } from "vitest";
import { readArguments } from "../src/arguments.ts";

test("without arguments everything runs, with the seed 1 and the rounds of each case", () => {
	expect(readArguments([])).toEqual({
		what: "everything",
		only: [],
		rounds: undefined,
		json: undefined,
		seed: 1,
		workers: {},
		isTimed: false,
		pages: [],
	});
});

test("every option is read; --only may be given again", () => {
	const words =
		"-- --rounds 3 --seed 42 --json out.json --only idle --only tree --timed --framed --preload --selection";
	expect(readArguments(words.split(" "))).toEqual({
		what: "selection",
		only: ["idle", "tree"],
		rounds: 3,
		json: "out.json",
		seed: 42,
		workers: { transport: "framed", preload: { modules: ["numpy"] } },
		isTimed: true,
		pages: [],
	});
});

test("who asks for help gets it, whatever else is asked for", () => {
	expect(readArguments(["--help", "--list"]).what).toBe("help");
	expect(readArguments(["-h"]).what).toBe("help");
});

test("a page is made of the runs that are named", () => {
	expect(readArguments(["--page", "a.json", "--page", "b.json"])).toMatchObject(
		{
			what: "page",
			pages: ["a.json", "b.json"],
		},
	);
});

test.each([
	["--rounds", "0"],
	["--rounds", "many"],
	["--seed", "1.5"],
	["--unheard-of", "1"],
])("%s %s is refused", (name, value) => {
	expect(() => readArguments([name, value])).toThrow(name);
});
