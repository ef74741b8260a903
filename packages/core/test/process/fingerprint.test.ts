import { expect, test } from "vitest";
import { fingerprint } from "../../src/process/owned-process.ts";

test("a fingerprint names the program and hides its arguments", () => {
	const shown = fingerprint({
		executable: "/opt/python/bin/python3",
		args: ["--password", "hunter2"],
	});
	expect(shown).toMatch(/^python3#[0-9a-f]{12}$/);
	expect(shown).not.toContain("hunter2");
});

test("the same command has the same fingerprint, another one another", () => {
	const of = (executable: string, ...args: string[]): string =>
		fingerprint({ executable, args });
	expect(of("a", "b c")).toBe(of("a", "b c"));
	const others = [of("a", "b", "c"), of("a"), of("/x/a", "b c"), of("a", "bc")];
	expect(new Set([of("a", "b c"), ...others]).size).toBe(5);
});

test("environment and directory are no part of it", () => {
	const command = { executable: "a", args: ["b"] };
	expect(fingerprint({ ...command, cwd: "/x", env: { SECRET: "s" } })).toBe(
		fingerprint(command),
	);
});
