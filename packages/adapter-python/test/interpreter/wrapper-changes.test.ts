import { expect, test } from "vitest";
import {
	isWrapper,
	missedChanges,
	wrapperChanges,
} from "../../src/interpreter/probe.ts";
import { programThatPrints, scratch } from "../support/fake-python.ts";

const given = { PATH: "/bin", GONE: "1", SAME: "2", GPU: "0" };
const changes = wrapperChanges(given, {
	PATH: "/wrapped:/bin",
	SAME: "2",
	LD_LIBRARY_PATH: "/lib",
	GPU: "7",
	SHLVL: "2",
	BYTES: "\udcff",
});

test("what a wrapper sets, changes and removes reaches a process that it does not start", () => {
	expect(missedChanges(changes, given)).toEqual({
		PATH: "/wrapped:/bin",
		GONE: undefined,
		LD_LIBRARY_PATH: "/lib",
		GPU: "7",
	});
});

test("but not where the slot has a value of its own", () => {
	const slot = { ...given, GPU: "3", LD_LIBRARY_PATH: "/own" };
	expect(missedChanges(changes, slot)).toEqual({
		PATH: "/wrapped:/bin",
		GONE: undefined,
	});
});

test("a link to Python is not treated as a wrapper", () => {
	const python = programThatPrints(`${scratch()}/python`, "");
	expect(isWrapper(python, python)).toBe(false);
	expect(isWrapper(python, "/nowhere/python")).toBe(true);
});
