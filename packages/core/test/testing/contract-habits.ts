import type { CallProgress } from "../../src/contract/connection.ts";
import { CallAbortedError } from "../../src/contract/errors.ts";
import type { ScriptedWorker } from "../../src/testing/scripted-worker.ts";
import type {
	ContractCommands,
	ScriptedCall,
	ScriptedCommand,
} from "../../src/testing.ts";

const never = (): Promise<never> => new Promise(() => undefined);
const reports: readonly CallProgress[] = [
	{ fraction: 0.5, message: "half" },
	{ fraction: undefined, message: "" },
	{ fraction: 1, message: "whole" },
];
const slow = new WeakSet<ScriptedWorker>();

/** Scripts with the habits that the contract has cases for. */
export const habits: Readonly<Record<string, ScriptedCommand>> = {
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
export async function leaves(worker: ScriptedWorker): Promise<void> {
	if (slow.has(worker)) await new Promise(setImmediate);
	worker.process.exit(0);
}

export const habitCommands: Pick<
	ContractCommands,
	| "unconfirmed"
	| "strayLine"
	| "endOutput"
	| "lastAnswer"
	| "leaveSlowly"
	| "report"
> = {
	unconfirmed: { command: "unconfirmed", args: 1 },
	strayLine: { command: "strayLine", args: 1, result: "answered" },
	endOutput: { command: "endOutput", args: 1 },
	lastAnswer: { command: "lastAnswer", args: 1, result: "the last" },
	leaveSlowly: { command: "leaveSlowly", args: 1 },
	report: { command: "report", args: 1, reports, result: "reported" },
};
