import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import {
	LinuxProc,
	type TableEntry,
} from "../packages/core/src/os/process-table.ts";
import { PYTHON_TEST, TEST, TEST_RUN } from "./test-mark.ts";

/** A process that outlived the tests which started it. */
export interface Leftover {
	readonly pid: number;
	/** With the pid it names one process, whichever has the pid later. */
	readonly startTime: string;
	readonly groupId: number;
	readonly command: string;
	/** The test in which it began, if its environment has it. */
	readonly test: string;
}

/** A process that its test has stopped has this long to end on a busy machine. */
const DYING_MS = 10_000;
const LOOK_MS = 50;
/** A killed process is gone soon; one that is there still, or again, is killed once more. */
const KILLED_MS = 1_000;
const MOST_LOOKS = 10;

/** Whether processes can be looked for here. */
export const leftoversAreSeen: boolean = process.platform === "linux";

/** Whether a process with the mark of a run is the runner's own. */
type IsRunner = (entry: TableEntry) => boolean;

const nothingElse: IsRunner = () => false;

/**
 * Ends what the tests of a run have left, and prints it. Returns the failures that it counts for.
 *
 * The caller is never a leftover, and `isRunner` names what else belongs to the runner of the tests.
 */
export async function reportLeftovers(
	name: string,
	run: string,
	isRunner: IsRunner = nothingElse,
): Promise<number> {
	if (!leftoversAreSeen) {
		console.log(
			`Processes that ${name} leaves are looked for on Linux only: nothing was looked at.`,
		);
		return 0;
	}
	let left = await leftoversOf(run, DYING_MS, isRunner);
	if (left.length === 0) return 0;
	console.error(
		`\n${name} left processes behind, which are ended now: counted as one failure`,
	);
	// What is listed may fork before it is killed.
	for (let look = 0; left.length > 0 && look < MOST_LOOKS; look++) {
		for (const each of left) {
			console.error(leftoverText(each));
			endLeftover(each);
		}
		left = await leftoversOf(run, KILLED_MS, isRunner);
	}
	for (const each of left) console.error(`still there: ${leftoverText(each)}`);
	return 1;
}

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

/** The processes of the run that still live when those that were about to end have had their time. */
export async function leftoversOf(
	run: string,
	dyingMs: number = DYING_MS,
	isRunner: IsRunner = nothingElse,
): Promise<readonly Leftover[]> {
	const deadline = performance.now() + dyingMs;
	while (true) {
		const found = look(run, isRunner);
		if (found.length === 0 || performance.now() > deadline) return found;
		await pause(LOOK_MS);
	}
}

/** Kills a process, unless it has ended: another may have its pid by then. */
export function endLeftover({
	pid,
	startTime,
}: Pick<Leftover, "pid" | "startTime">): void {
	const entry = new LinuxProc().entry(pid);
	if (typeof entry === "string" || entry.startTime !== startTime) return;
	try {
		process.kill(pid, "SIGKILL");
	} catch {
		// It ended in this instant.
	}
}

/** The living processes that were started with this value of a variable. */
export function processesWith(
	variable: string,
	value: string | undefined,
): readonly TableEntry[] {
	const table = new LinuxProc();
	return table
		.entries()
		.filter(
			({ pid, condition }) =>
				condition !== "zombie" &&
				table.environment(pid, [variable]).get(variable) === value,
		);
}

/** What a person needs to find the test, one line for each. */
export function leftoverText({
	pid,
	groupId,
	command,
	test,
}: Leftover): string {
	return `pid ${pid}, group ${groupId}: ${command}\n  begun in ${test}`;
}

/** What every process with the mark of a run does at the moment, for the end of a run that hangs. */
export function runText(run: string): string {
	return look(run, nothingElse)
		.map((each) => `${leftoverText(each)}\n  ${stateOf(each.pid)}\n`)
		.join("");
}

/** Whether it runs, sleeps or is stopped, and where in the kernel it waits. */
function stateOf(pid: number): string {
	try {
		const status = readFileSync(`/proc/${pid}/status`, "utf8");
		const state = /^State:\s*(.*)$/m.exec(status)?.[1] ?? "unknown";
		return `${state}, in ${readFileSync(`/proc/${pid}/wchan`, "utf8") || "unknown"}`;
	} catch {
		return "it has ended";
	}
}

function look(run: string, isRunner: IsRunner): readonly Leftover[] {
	const table = new LinuxProc();
	return table.entries().flatMap((entry) => {
		if (entry.pid === process.pid || isRunner(entry)) return [];
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
