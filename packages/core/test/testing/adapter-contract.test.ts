import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/os/system-clock.ts";
import type {
	ContractCommands,
	ContractWorker,
} from "../../src/testing/adapter-contract.ts";
import { scriptedAdapter } from "../../src/testing/scripted-adapter.ts";
import { startWorker } from "../../src/testing/start-for-real.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";
import { adapterContract, scripts } from "../../src/testing.ts";
import { habitCommands, habits, leaves } from "./contract-habits.ts";

describe.each([1, 4])(
	"the scripted adapter with %i calls per worker keeps the adapter contract",
	(callsPerWorker) => {
		let produced = 0;
		const cases = adapterContract({
			adapter: () =>
				scriptedAdapter({
					commands: {
						...scripts,
						count: async function* () {
							yield* [0, 1, 2];
							return "counted";
						},
						endless: async function* () {
							produced = 0;
							while (true) yield produced++;
						},
						...habits,
					},
					leave: leaves,
				}),
			start: (adapter) => {
				const { world } = virtualWorld({
					adapters: [adapter as ReturnType<typeof scriptedAdapter>],
				});
				return startWorker(adapter, {
					world: { ...world, clock: systemClock },
					directory: "/run/contract",
					callsPerWorker,
				});
			},
			callsPerWorker,
			commands: {
				echo: {
					command: "echo",
					args: { any: ["thing"] },
					result: { any: ["thing"] },
				},
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
		test.each(cases)("$title", ({ run }) => run());
	},
);

test("a worker that comes too late for its case is stopped", async () => {
	const late = Promise.withResolvers<ContractWorker>();
	const stopped = Promise.withResolvers<void>();
	const [first] = adapterContract({
		adapter: () => scriptedAdapter({}),
		start: () => late.promise,
		withinMs: 10,
		commands: {} as ContractCommands,
	});
	await expect(first?.run()).rejects.toThrow("start: not within 10 ms");
	late.resolve({ stop: async () => stopped.resolve() } as ContractWorker);
	await stopped.promise;
});
