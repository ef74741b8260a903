import { expect, test } from "vitest";
import { ProtectionUnavailable } from "../../src/contract/protection.ts";
import {
	guardLayer,
	guardProgram,
	inspectGuard,
} from "../../src/guard/guard-chain.ts";
import { nativeBinary } from "../../src/os/launcher.ts";

test.runIf(process.platform === "linux")(
	"on this machine a guard can work",
	async () => {
		expect(await guardLayer(nativeBinary())).toMatchObject({
			...{ layer: "guard", status: "available" },
			detail: expect.stringMatching(
				/^every run has a guard.*snakepit-native\)$/,
			),
		});
	},
);

test.each([
	["linux", "x64", /native-linux-x64.*not found/, /npm install.*optional/],
	["linux", "riscv64", /x64 and arm64; this is linux on riscv64/, /watchdog/],
	["darwin", "arm64", /Linux on x64 and arm64; this is darwin/, /watchdog/],
])(
	"where there is no native binary, on %s %s, the reason says so and what helps",
	(platform, arch, reason, remedy) => {
		const find = (): string => guardProgram(undefined, { platform, arch });
		expect(find).toThrow(ProtectionUnavailable);
		expect(find).toThrow(reason);
		expect(find).toThrow(remedy);
	},
);

test("a program that fails is not accepted as a guard, and its output is quoted", async () => {
	await expect(inspectGuard("/bin/false")).rejects.toThrow(
		/cannot work on this system: Command failed.*Mount \/proc/s,
	);
});

test.runIf(process.platform === "linux")(
	"the doctor says what is missing without one, and what lives on",
	async () => {
		expect(await guardLayer(undefined)).toMatchObject({
			...{ layer: "guard", status: "unavailable" },
			detail: expect.stringMatching(/not found.*survives until the next start/),
			remedy: expect.stringContaining("npm install"),
		});
	},
);
