import { expect, test } from "vitest";
import { commandToRepeat } from "../../scripts/command-to-repeat.ts";
import { PATHS, readArguments } from "../src/arguments.ts";

const known = ["small-call", "soak"];

test("everything is measured five times unless somebody says otherwise", () => {
	expect(readArguments([], known)).toMatchObject({
		kind: "run",
		only: [],
		quick: false,
		runs: 5,
	});
});

test("cases are named with commas or one by one", () => {
	const both = ["--only", "small-call,soak"];
	const each = ["--only", "small-call", "--only", "soak"];
	expect(readArguments(both, known)).toMatchObject({ only: known });
	expect(readArguments(each, known)).toMatchObject({ only: known });
});

test("a case that does not exist is a mistake that names those that do", () => {
	const request = readArguments(["--only", "smal-call"], known);
	expect(request).toMatchObject({
		kind: "mistake",
		message: expect.stringContaining("small-call, soak"),
	});
});

test("the length of the soak is given in minutes", () => {
	expect(readArguments(["--soak", "60"], known)).toMatchObject({
		pace: { soakMs: 3_600_000 },
	});
});

test("a number that is none is a mistake", () => {
	expect(readArguments(["--runs", "many"], known).kind).toBe("mistake");
});

test("a Python without its lock is one that somebody names", () => {
	expect(
		readArguments(["--free-threaded", "/opt/python3.14t"], known),
	).toMatchObject({ freeThreadedPython: "/opt/python3.14t" });
	expect(readArguments([], known)).toMatchObject({
		freeThreadedPython: undefined,
	});
});

test("publishing measures nothing, so it goes with no other option", () => {
	expect(readArguments(["--publish", "a", "--publish", "b"], [])).toEqual({
		kind: "publish",
		files: ["a", "b"],
	});
	expect(
		readArguments(["--publish", "a", "--only", "soak"], ["soak"]),
	).toMatchObject({
		kind: "mistake",
		message: expect.stringContaining("without --only"),
	});
});

test("the command to repeat a run tells neither its files nor where an interpreter is", () => {
	expect(
		commandToRepeat(
			"bench",
			[
				...["--only", "threads", "--json", "run one.json", "--svg=a.svg"],
				...["--free-threaded", "/of mine/python", "--runs", "3"],
			],
			PATHS,
		),
	).toBe("npx pnpm@12 bench --only threads --free-threaded PYTHON --runs 3");
});
