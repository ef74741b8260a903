import {
	type ProcessSnapshot,
	SystemProcessHost,
} from "@snakepit/core/infrastructure";
import { counted, printFact } from "./digits.ts";

/** What identifies the processes of a run: worker groups, and run ids in markers. */
export interface Trace {
	readonly runs: Set<string>;
	readonly groups: Set<number>;
}

const machine = new SystemProcessHost();

/** Looks at every process of the system. */
export function listProcesses(): ProcessSnapshot {
	return machine.snapshot();
}

/** The pids of the living processes that belong to a run. */
export function leftoversOf(
	{ runs, groups }: Trace,
	{ processes, marked, guards }: ProcessSnapshot,
): readonly number[] {
	const inGroups = processes.filter(
		({ condition, groupId }) => condition === "alive" && groups.has(groupId),
	);
	const ofRuns = [...marked, ...guards].filter(({ marker }) =>
		runs.has(marker.runId),
	);
	return [
		...new Set([...inGroups, ...ofRuns].map(({ identity }) => identity.pid)),
	];
}

/** Finds the trace of another program while it lives, from the markers that name it as host. */
export function traceOf(
	host: number,
	{ processes, marked, guards }: ProcessSnapshot,
): Trace {
	const hosts = processes.find(({ identity }) => identity.pid === host);
	const own = [...marked, ...guards].filter(
		({ marker }) => marker.hostPid === host,
	);
	const groups = new Set(own.map(({ groupId }) => groupId));
	// The host's own group has no workers, and this program may be in it.
	groups.delete(hosts?.groupId ?? 0);
	return { runs: new Set(own.map(({ marker }) => marker.runId)), groups };
}

/** Prints a fact, and the leftovers. */
export function printLeftovers(
	leftovers: readonly number[],
	how: string,
): void {
	const left = counted(leftovers.length, "process", "processes");
	printFact("left", `${left}, by group or marker${how}`);
	for (const pid of leftovers) console.log(`  pid ${pid}`);
}
