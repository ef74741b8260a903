/** A host of programs that know nothing of Snakepit; see any-program.test.ts. Prints their pids when all are up. */
import type { LaunchSpec } from "../../src/contract/launch.ts";
import { openRun } from "../../src/run/open-run.ts";
import type { RunOptions } from "../../src/run/run-options.ts";

const [dataDir, text = "[]", guard] = process.argv.slice(2);
const specs = JSON.parse(text) as readonly LaunchSpec[];
const run = await openRun({
	dataDir,
	guard: guard as RunOptions["guard"],
});
const pool = await run.createPool({
	adapter: {
		name: "any",
		launch: ({ index }) => ({
			...(specs[index] as LaunchSpec),
			stdio: "adapter",
		}),
		connect: async ({ stdout }) => {
			await new Promise((resolve) => stdout?.once("data", resolve));
			return {
				execute: async () => undefined,
				[Symbol.asyncDispose]: async () => {},
			};
		},
	},
	size: specs.length,
	heartbeat: "off",
});
const pids = pool.workers().map(({ pid }) => pid);
const orphans = run.cleanupReport.reaped.length;
console.log(JSON.stringify({ pids, orphans }));
setInterval(() => {}, 2 ** 30);
