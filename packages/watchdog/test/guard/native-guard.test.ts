import { expect, test } from "vitest";
import { guardProgram, inspectGuard } from "../../src/guard/native-guard.ts";
import { guard } from "../../src/index.ts";
import { ProtectionUnavailable } from "../../src/own-file.ts";

test("on this machine a guard can work", async () => {
	expect(await guard().inspect()).toMatchObject({ status: "available" });
});

test.each([
	["linux", "x64", /native-linux-x64.*not found/, /npm install.*optional/],
	["linux", "riscv64", /x64 and arm64; this is riscv64/, /watchdog/],
	["darwin", "arm64", /Linux offers; this is darwin/, /watchdog/],
])(
	"where there is no native binary, on %s %s, the reason says so and what helps",
	(platform, arch, reason, remedy) => {
		const find = (): string =>
			guardProgram({ platform, arch }, () => undefined);
		expect(find).toThrow(ProtectionUnavailable);
		expect(find).toThrow(reason);
		expect(find).toThrow(remedy);
	},
);

test("a program that fails is no guard, and is quoted", async () => {
	await expect(inspectGuard("/bin/false")).rejects.toThrow(
		/does not let a process be a guard: Command failed.*Mount \/proc/s,
	);
});

test("an option that does not exist, or is wrong, is refused", () => {
	expect(() => guard({ python: "x" } as never)).toThrow(/"python"/);
	expect(() => guard({ whenUnavailable: "maybe" as never })).toThrow(/refuse/);
});
