import type { Adapter } from "../../src/contract/adapter.ts";

/** A program that answers each line with the same in capitals. */
export const CAPITALS: Adapter = {
	name: "capitals",
	launch: () => ({
		executable: "sh",
		args: ["-c", "while read x; do echo $x | tr a-z A-Z; done"],
		stdio: "adapter",
	}),
	connect: async ({ stdin, stdout }) => {
		stdin?.on("error", () => {}); // Its end follows.
		return {
			execute: async (command) =>
				await new Promise((resolve) => {
					stdout?.once("data", (data) => resolve(String(data).trim()));
					stdin?.write(`${command}\n`);
				}),
			[Symbol.asyncDispose]: async () => {
				stdin?.end();
			},
		};
	},
};
