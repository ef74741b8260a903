import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "@snakepit/core";
import { expect, test } from "vitest";
import {
	choiceNote,
	chooseInterpreter,
} from "../../src/interpreter/choose-interpreter.ts";
import { usualSources } from "../../src/interpreter/interpreter-sources.ts";
import { failureOf } from "../support/calls.ts";
import { fakePython, programThatPrints } from "../support/fake-python.ts";
import { machine } from "../support/machine.ts";

test("VIRTUAL_ENV comes before .venv, that before uv, and python3 is the last", async () => {
	const { root, bin, env, choose } = machine();
	const python3 = fakePython(join(bin, "python3"), "3.12.1");
	expect(await choose()).toMatchObject({
		executable: python3,
		version: [3, 12, 1],
	});
	const managed = fakePython(join(root, "managed/python"), "3.13.0");
	programThatPrints(join(bin, "uv"), managed);
	expect(await choose()).toMatchObject({
		executable: managed,
		reason: expect.stringContaining("uv"),
	});
	const dotVenv = fakePython(join(root, "project/.venv/bin/python"), "3.11.0");
	expect(await choose()).toMatchObject({
		executable: dotVenv,
		reason: expect.stringContaining(".venv"),
	});
	env["VIRTUAL_ENV"] = join(root, "active");
	const active = fakePython(join(root, "active/bin/python"), "3.10.0");
	expect(await choose()).toMatchObject({
		executable: active,
		reason: expect.stringContaining("VIRTUAL_ENV"),
	});
});

test("the choice names the interpreters that were passed over", async () => {
	const { root, cwd, bin, choose } = machine();
	fakePython(join(bin, "python3"), "3.12.1");
	programThatPrints(join(bin, "uv"), "no interpreter found", 2);
	mkdirSync(join(root, "project/.venv"));
	const note = choiceNote(await choose());
	expect(note).toContain("Python 3.12.1");
	expect(note).toContain("python3 in PATH");
	expect(note).toContain("VIRTUAL_ENV is not set");
	expect(note).toContain(
		`no .venv in ${cwd} or above it; ${root}/project/.venv is not a virtual environment`,
	);
	expect(note).toContain("uv python find failed");
});

test("no Python is an error that lists everything that was tried", async () => {
	const { bin, cwd, choose } = machine();
	programThatPrints(join(bin, "python3"), "python3: not really there", 127);
	const error = await failureOf(choose());
	expect(error).toBeInstanceOf(StartError);
	expect(error).toMatchObject({ code: "PYTHON_NOT_FOUND", ran: "no" });
	for (const tried of [
		"VIRTUAL_ENV",
		cwd,
		"uv is not in PATH",
		"exit code 127",
	])
		expect(String(error)).toContain(tried);
});

test("a wrapper that is python3 in PATH is what is executed, not the Python behind it", async () => {
	const { bin, choose } = machine();
	const wrapper = fakePython(join(bin, "python3"), "3.12.1", {
		executable: "/elsewhere/python3",
	});
	const choice = await choose();
	expect(choice).toMatchObject({
		program: wrapper,
		executable: "/elsewhere/python3",
	});
	expect(choiceNote(choice)).toContain(`${wrapper} (/elsewhere/python3)`);
});

test("a program that is not Python is passed over", async () => {
	const { bin, choose } = machine();
	programThatPrints(join(bin, "python3"), "Hello, I am Ruby");
	expect(String(await failureOf(choose()))).toContain("Hello, I am Ruby");
});

test("a Python that is too old is refused by its version", async () => {
	const { bin, choose } = machine();
	fakePython(join(bin, "python3"), "3.9.18");
	expect(await failureOf(choose())).toMatchObject({
		code: "PYTHON_TOO_OLD",
		message: expect.stringMatching(
			/3\.9\.18.*3\.10 or newer.*Passed over before it:\n {2}- VIRTUAL_ENV is not set\n {2}- no \.venv in .*\n {2}- uv is not in PATH/s,
		),
	});
});

test("an abort ends the search", async () => {
	const { bin, env, cwd } = machine();
	programThatPrints(join(bin, "python3"), "$(sleep 600)");
	const setting = { env, cwd };
	const reason = new Error("time limit");
	const choice = chooseInterpreter(
		usualSources(setting),
		setting,
		AbortSignal.abort(reason),
	);
	expect(await failureOf(choice)).toBe(reason);
});
