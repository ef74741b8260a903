import { join } from "node:path";
import { expect, test } from "vitest";
import {
	GuardUnavailable,
	judgeInspection,
} from "../../src/guard/python-interpreter.ts";
import { guard } from "../../src/index.ts";

const nowhere = join(import.meta.dirname, "no-such-python");

test("where there is no Python, the report says so and what helps", async () => {
	const report = await guard({ python: nowhere }).inspect();
	expect(report).toMatchObject({ layer: "guard", status: "unavailable" });
	expect(report.detail).toContain(nowhere);
	expect(report.remedy).toContain("Python 3.10");
});

test("a program that is no Python is refused", async () => {
	const report = await guard({ python: "true" }).inspect();
	expect(report.status).toBe("unavailable");
	expect(report.detail).toContain("true: it is no Python");
});

test("on this machine a guard can work", async () => {
	expect(await guard().inspect()).toMatchObject({ status: "available" });
});

test("an old Python is named with its version, a system that refuses with its reason", () => {
	const reported = (fields: object) => ({
		output: JSON.stringify({ executable: "/p", ...fields }),
		failure: undefined,
	});
	expect(judgeInspection("p", reported({ version: "3.9.2" }))).toMatch(
		/3\.9\.2/,
	);
	expect(judgeInspection("p", reported({ version: "3.10.0" }))).toEqual({
		executable: "/p",
		version: "3.10.0",
	});
	expect(() =>
		judgeInspection(
			"p",
			reported({ version: "3.14.1", unavailable: "no prctl" }),
		),
	).toThrow(GuardUnavailable);
	expect(judgeInspection("p", { output: "", failure: "ENOENT" })).toContain(
		"ENOENT",
	);
});

test("an option that does not exist, or is wrong, is refused", () => {
	expect(() => guard({ pyton: "x" } as never)).toThrow(/"python"/);
	expect(() => guard({ whenUnavailable: "maybe" as never })).toThrow(/refuse/);
});
