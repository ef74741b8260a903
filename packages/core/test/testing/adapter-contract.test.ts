import { describe, expect, test } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import type { CallProgress } from "../../src/contract/connection.ts";
import { CallAbortedError } from "../../src/contract/errors.ts";
import { systemClock } from "../../src/os/system-clock.ts";
import type { ContractCase } from "../../src/testing/contract-case.ts";
import {
	type ScriptedAdapter,
	scriptedAdapter,
} from "../../src/testing/scripted-adapter.ts";
import type { ScriptedWorker } from "../../src/testing/scripted-worker.ts";
import { startWorker } from "../../src/testing/start-for-real.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";
import {
	adapterContract,
	type ContractCommands,
	type ContractWorker,
	type ScriptedCall,
	type ScriptedCommand,
	scripts,
} from "../../src/testing.ts";
import { FLAWS, type Flaw } from "./contract-flaws.ts";

const never = (): Promise<never> => new Promise(() => undefined);
const reports: readonly CallProgress[] = [
	{ fraction: 0.5, message: "half" },
	{ fraction: undefined, message: "" },
	{ fraction: 1, message: "whole" },
];
const slow = new WeakSet<ScriptedWorker>();

/** Scripts with the habits that the contract has cases for. */
const habits: Readonly<Record<string, ScriptedCommand>> = {
	unconfirmed: ({ signal }: ScriptedCall) =>
		new Promise((_, reject) => {
			signal.addEventListener("abort", () =>
				reject(
					new CallAbortedError({
						...{ code: "CALL_ABORTED", ran: "maybe", message: "cancelled" },
						worker: "unknown",
					}),
				),
			);
		}),
	strayLine: ({ worker }: ScriptedCall) => {
		worker.process.write("not of the protocol");
		return "answered";
	},
	endOutput: ({ worker }: ScriptedCall) => {
		worker.hangUp();
		return never();
	},
	lastAnswer: ({ worker }: ScriptedCall) => {
		setImmediate(() => worker.process.exit(0));
		return "the last";
	},
	leaveSlowly: ({ worker }: ScriptedCall) => void slow.add(worker),
	report: async ({ onProgress }: ScriptedCall) => {
		for (const progress of reports) void onProgress?.(progress);
		return "reported";
	},
};

/** What a worker does when it is asked to leave. */
async function leaves(worker: ScriptedWorker): Promise<void> {
	if (slow.has(worker)) await new Promise(setImmediate);
	worker.process.exit(0);
}

/** The contract's cases for the scripted adapter, of which each may have a flaw. */
function scriptedCases(
	callsPerWorker: number,
	flawed: (scripted: ScriptedAdapter) => Adapter = (scripted) => scripted,
	withinMs?: number,
): readonly ContractCase[] {
	let produced = 0;
	let scripted: ScriptedAdapter;
	return adapterContract({
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
			return flawed(scripted);
		},
		start: (adapter) =>
			startWorker(adapter, {
				world: {
					...virtualWorld({ adapters: [scripted] }).world,
					clock: systemClock,
				},
				directory: "/run/contract",
				callsPerWorker,
			}),
		...{ callsPerWorker, withinMs },
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
			unconfirmed: { command: "unconfirmed", args: 1 },
			strayLine: { command: "strayLine", args: 1, result: "answered" },
			endOutput: { command: "endOutput", args: 1 },
			lastAnswer: { command: "lastAnswer", args: 1, result: "the last" },
			leaveSlowly: { command: "leaveSlowly", args: 1 },
			report: { command: "report", args: 1, reports, result: "reported" },
		},
	});
}

describe.each([1, 4])(
	"the scripted adapter with %i calls per worker keeps the adapter contract",
	(callsPerWorker) => {
		test.each(scriptedCases(callsPerWorker))("$title", ({ run }) => run());
	},
);

const withFlaw =
	(flaw: Flaw) =>
	(scripted: ScriptedAdapter): Adapter => ({
		...scripted,
		connect: async (process, signal) => {
			const connection = await scripted.connect(process, signal);
			return { ...connection, ...flaw(connection, process) };
		},
	});

describe.each(Object.entries(FLAWS))(
	"an adapter that %s",
	(_name, { flaw, breaks }) => {
		test.concurrent("breaks exactly these cases of the contract", async ({
			expect,
		}) => {
			const broken: string[] = [];
			for (const { title, run } of scriptedCases(2, withFlaw(flaw), 1_000))
				await run().catch(() => broken.push(title));
			expect(broken).toEqual(breaks);
		}, 60_000);
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
