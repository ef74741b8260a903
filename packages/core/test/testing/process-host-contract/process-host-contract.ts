import type {
	ProcessHost,
	ProcessSpec,
	StartedProcess,
} from "../../../src/contract/world.ts";
import {
	type ContractCase,
	within,
} from "../../../src/testing/contract-case.ts";
import { type ContractProgram, PLAIN } from "./contract-program.ts";
import { processGroupCases } from "./groups.ts";
import { processCases } from "./processes.ts";

/** Small programs, each named by its one habit. `up` means one line `up` on standard output when it is so far. */
export interface ContractPrograms {
	/** Writes `out` on standard output and `err` on standard error, and exits with code 7. */
	readonly exitsWithSeven: ContractProgram;
	/** Writes `up` and lives until a signal ends it. */
	readonly idles: ContractProgram;
	/** Ignores SIGTERM, writes `up` and runs on. */
	readonly ignoresTerm: ContractProgram;
	/** Starts an idle child in its own group, writes `up` and runs on. */
	readonly forks: ContractProgram;
	/** Writes back what it reads until its input ends, then exits with code 0. */
	readonly copies: ContractProgram;
	/** Writes back on descriptor 3 what it reads there, and exits with code 0 at its end. */
	readonly copiesControl: ContractProgram;
}

/** How long anything may take that must not hang, in milliseconds of real time. */
const WITHIN_MS = 10_000;

/** What the contract needs of a host. */
export interface ProcessHostHarness {
	/** Asked once per case. */
	host(): ProcessHost;
	readonly programs: ContractPrograms;
	/** An existing directory in which nothing else is. */
	readonly directory: string;
}

/** What a case may use. */
export interface ProcessHostBench {
	readonly host: ProcessHost;
	readonly programs: ContractPrograms;
	readonly directory: string;
	/** Starts a program; it is killed with its group when the case ends. */
	start(
		program: ContractProgram,
		spec?: Partial<ProcessSpec>,
	): Promise<StartedProcess>;
	/** Waits for the line `up`. */
	up(process: StartedProcess): Promise<void>;
	/** Rejects when `promise` has not settled in time. */
	soon<Value>(what: string, promise: Promise<Value>): Promise<Value>;
	/** Looks again and again until it is so: the process table has no events. */
	eventually(what: string, isSo: () => boolean): Promise<void>;
}

/** Makes a case that gets a host and cleans up after itself. */
export type ProcessHostCase = (
	title: string,
	body: (bench: ProcessHostBench) => Promise<void>,
) => ContractCase;

/** Everything that the machinery relies on in a host, as cases for any test runner; the fake one and the real one keep it. */
export function processHostContract(
	harness: ProcessHostHarness,
): readonly ContractCase[] {
	const onBench: ProcessHostCase = (title, body) => ({
		title,
		run: async () => {
			const started: StartedProcess[] = [];
			try {
				await body(benchOf(harness, started));
			} finally {
				for (const process of started) process.signal("SIGKILL", "group");
			}
		},
	});
	return [...processCases(onBench), ...processGroupCases(onBench)];
}

function benchOf(
	harness: ProcessHostHarness,
	started: StartedProcess[],
): ProcessHostBench {
	const { programs, directory } = harness;
	const host = harness.host();
	const soon: ProcessHostBench["soon"] = (what, promise) =>
		within(WITHIN_MS, what, promise);
	return {
		host,
		programs,
		directory,
		soon,
		start: async (program, spec = {}) => {
			const process = await soon(
				`start of ${program.executable}`,
				host.source.start({ ...program, ...PLAIN, ...spec }, () => undefined),
			);
			started.push(process);
			process.stderr.resume();
			return process;
		},
		up: (process) =>
			soon(
				"the line up",
				new Promise((resolve, reject) => {
					let text = "";
					process.stdout.on("data", (chunk) => {
						text += String(chunk);
						if (text.includes("up\n")) resolve();
					});
					process.stdout.on("end", () =>
						reject(new Error(`It ended after ${JSON.stringify(text)}.`)),
					);
				}),
			),
		eventually: async (what, isSo) => {
			const deadline = Date.now() + WITHIN_MS;
			while (!isSo()) {
				if (Date.now() > deadline)
					throw new Error(`${what}: not within ${WITHIN_MS} ms.`);
				await new Promise((resolve) => setTimeout(resolve, 5));
			}
		},
	};
}
