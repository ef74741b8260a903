import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { LinuxProc } from "../packages/core/src/os/linux-proc.ts";
import type { TableEntry } from "../packages/core/src/os/process-table.ts";
import { PYTHON_TEST, TEST, TEST_RUN } from "./test-mark.ts";

/** A process that outlived the tests which started it. */
export interface Leftover {
	readonly pid: number;
	/** With the pid it names one process, whoever has the number later. */
	readonly startTime: string;
	readonly groupId: number;
	readonly command: string;
	/** The test in which it began, as far as its environment says. */
	readonly test: string;
}

/** What is told to end when its test ends has this long on a busy machine. */
const DYING_MS = 10_000;
const LOOK_MS = 50;

/** Whether processes can be looked for here. */
export const leftoversAreSeen: boolean = process.platform === "linux";

/**
 * Decides whether a process is left of the run of tests `run`.
 *
 * Only its environment is evidence: a process that carries another run's mark, or
 * none, is a stranger. One that cleared its environment is not seen.
 */
export function leftoverOf(
	run: string,
	{ pid, startTime, groupId, condition }: TableEntry,
	variables: ReadonlyMap<string, string>,
	command: string,
): Leftover | undefined {
	if (condition === "zombie" || variables.get(TEST_RUN) !== run)
		return undefined;
	const test = variables.get(TEST) ?? variables.get(PYTHON_TEST) ?? "no test";
	return { pid, startTime, groupId, command, test };
}

/** Every process of the run that lives still when those that were just dying have had their time. */
export async function leftoversOf(
	run: string,
	dyingMs: number = DYING_MS,
): Promise<readonly Leftover[]> {
	const deadline = performance.now() + dyingMs;
	while (true) {
		const found = look(run);
		if (found.length === 0 || performance.now() > deadline) return found;
		await pause(LOOK_MS);
	}
}

/** Kills a process, unless it has ended: its number may be a stranger's by then. */
export function endLeftover({ pid, startTime }: Leftover): void {
	const entry = new LinuxProc().entry(pid);
	if (typeof entry === "string" || entry.startTime !== startTime) return;
	try {
		process.kill(pid, "SIGKILL");
	} catch {
		// It ended in this instant.
	}
}

/** What a person needs to find the test, one line for each. */
export function shownLeftover({
	pid,
	groupId,
	command,
	test,
}: Leftover): string {
	return `pid ${pid}, group ${groupId}: ${command}\n  begun in ${test}`;
}

function look(run: string): readonly Leftover[] {
	const table = new LinuxProc();
	return table.entries().flatMap((entry) => {
		if (entry.pid === process.pid) return [];
		const variables = table.environment(entry.pid, [
			TEST_RUN,
			TEST,
			PYTHON_TEST,
		]);
		return leftoverOf(run, entry, variables, commandOf(entry)) ?? [];
	});
}

function commandOf({ pid, name }: TableEntry): string {
	try {
		const text = readFileSync(`/proc/${pid}/cmdline`, "utf8");
		return text.replace(/\0$/, "").replaceAll("\0", " ") || name;
	} catch {
		return name;
	}
}
