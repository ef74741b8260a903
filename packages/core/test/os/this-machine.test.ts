import { expect, test } from "vitest";
import { StartError } from "../../src/contract/errors.ts";
import { assertPlatform } from "../../src/os/this-machine.ts";

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
