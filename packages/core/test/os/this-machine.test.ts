import { expect, test } from "vitest";
import { StartError } from "../../src/contract/errors.ts";
import { assertPermitted, assertPlatform } from "../../src/os/this-machine.ts";

test("pools are for Linux and macOS; elsewhere starting one is a clear error", () => {
	assertPlatform("linux");
	assertPlatform("darwin");
	expect(() => assertPlatform("win32")).toThrow(
		expect.objectContaining({
			code: "PLATFORM_UNSUPPORTED",
			message: expect.stringContaining("WSL"),
		}),
	);
	expect(() => assertPlatform("aix")).toThrow(StartError);
});

test("a program is told which of the permissions that pools need are missing, as far as its Node knows them", () => {
	const flags = new Set([
		...["--allow-child-process", "--allow-addons"],
		...["--allow-fs-read", "--allow-fs-write"],
	]);
	const without =
		(...lacking: readonly string[]) =>
		() =>
			assertPermitted({ has: (scope) => !lacking.includes(scope) }, flags);
	assertPermitted(undefined, flags);
	expect(without("net")).not.toThrow();
	for (const [scope, flag] of [
		["child", "--allow-child-process"],
		["addon", "--allow-addons"],
		["fs.write", "--allow-fs-write=/dev/null"],
	] as const)
		expect(without(scope)).toThrow(
			expect.objectContaining({
				code: "PERMISSION_MISSING",
				message: expect.stringContaining(`without ${flag}, which`),
			}),
		);
	expect(without("child", "addon")).toThrow(
		"without --allow-child-process, --allow-addons, which pools need. Add these flags",
	);
});
