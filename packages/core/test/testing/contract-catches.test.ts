import { describe, test } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import { systemClock } from "../../src/os/system-clock.ts";
import {
	type ScriptedAdapter,
	scriptedAdapter,
} from "../../src/testing/scripted-adapter.ts";
import { startWorker } from "../../src/testing/start-for-real.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";
import { adapterContract, scripts } from "../../src/testing.ts";
import { FLAWS, type Flaw } from "./contract-flaws.ts";
import { habitCommands, habits, leaves } from "./contract-habits.ts";
import { PROGRESS_FLAWS } from "./progress-flaws.ts";

function flawed(scripted: ScriptedAdapter, flaw: Flaw): Adapter {
	return {
		...scripted,
		connect: async (process, signal) => {
			const connection = await scripted.connect(process, signal);
			return { ...connection, ...flaw(connection, process) };
		},
	};
}

describe.each(Object.entries({ ...FLAWS, ...PROGRESS_FLAWS }))(
	"an adapter that %s",
	(_name, { flaw, breaks }) => {
		test.concurrent("breaks exactly these cases of the contract", async ({
			expect,
		}) => {
			let produced = 0;
			let scripted: ScriptedAdapter;
			const cases = adapterContract({
				adapter: () => {
					scripted = scriptedAdapter({
						commands: {
							...scripts,
							count: async function* () {
								yield* [0, 1, 2];
								return "counted";
							},
							endless: async function* () {
								for (produced = 0; ; ) yield produced++;
							},
							exitBadly: ({ worker }) => worker.process.exit(1),
							...habits,
						},
						leave: leaves,
					});
					return flawed(scripted, flaw);
				},
				start: (adapter) =>
					startWorker(adapter, {
						world: {
							...virtualWorld({ adapters: [scripted] }).world,
							clock: systemClock,
						},
						directory: "/run/c",
						callsPerWorker: 2,
					}),
				callsPerWorker: 2,
				withinMs: 1_000,
				commands: {
					echo: { command: "echo", args: 1, result: 1 },
					hang: { command: "hang", args: {} },
					fail: { command: "fail", args: "on purpose" },
					count: {
						command: "count",
						args: 3,
						items: [0, 1, 2],
						result: "counted",
					},
					silent: { command: "silent", args: {} },
					endless: {
						command: "endless",
						args: {},
						produced: async () => produced,
						window: 0,
					},
					breakConversation: { command: "breakConversation", args: {} },
					...habitCommands,
				},
			});
			const broken: string[] = [];
			for (const { title, run } of cases)
				await run().catch(() => broken.push(title));
			expect(broken).toEqual(breaks);
		}, 60_000);
	},
);
