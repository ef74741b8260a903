import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import {
	MARKER_VARIABLE,
	type Marker,
	parseMarker,
} from "@snakepit/core/infrastructure";
import { counted, printFact } from "./digits.ts";

/** A living process, as the operating system shows it. */
export interface ListedProcess {
	readonly pid: number;
	readonly parent: number;
	/** Its process group. */
	readonly group: number;
	/** From its environment; `undefined` if there is none or the environment is not readable. */
	readonly marker: Marker | undefined;
	readonly command: string;
}

/** What identifies the processes of a run: worker groups, and run ids in markers. */
export interface Trace {
	readonly runs: Set<string>;
	readonly groups: Set<number>;
}

/** Finds the processes that belong to a run. */
export function leftoversOf(
	{ runs, groups }: Trace,
	processes: readonly ListedProcess[],
): readonly ListedProcess[] {
	return processes.filter(
		({ group, marker }) =>
			groups.has(group) || (marker !== undefined && runs.has(marker.runId)),
	);
}

/** Finds the trace of another program while it lives: its children's groups, and the markers that name it as host. */
export function traceOf(
	host: number,
	processes: readonly ListedProcess[],
): Trace {
	const own = processes.find(({ pid }) => pid === host);
	const marked = processes.filter(({ marker }) => marker?.hostPid === host);
	const children = processes.filter(({ parent }) => parent === host);
	return {
		runs: new Set(marked.flatMap(({ marker }) => marker?.runId ?? [])),
		groups: new Set(
			[...children, ...marked]
				.map(({ group }) => group)
				// The host's own group has no workers, and this program may be in it.
				.filter((group) => group !== own?.group),
		),
	};
}

/** Prints a fact, and the leftovers. */
export function printLeftovers(
	leftovers: readonly ListedProcess[],
	how: string,
): void {
	const left = counted(leftovers.length, "process", "processes");
	printFact("left", `${left}, by group or marker${how}`);
	for (const { pid, command } of leftovers)
		console.log(`  pid ${pid}: ${command.slice(0, 120)}`);
}

/** Lists every process of the system except this one and zombies. */
export function listProcesses(): ListedProcess[] {
	const all = process.platform === "linux" ? readProc() : readPs();
	return all.filter(({ pid }) => pid !== process.pid);
}

function readProc(): ListedProcess[] {
	return readdirSync("/proc")
		.filter((name) => /^[0-9]+$/.test(name))
		.flatMap((name) => {
			const stat = read(`/proc/${name}/stat`);
			// The command name, in parentheses, may contain anything: fields start after it.
			const [state, parent, group] = stat
				.slice(stat.lastIndexOf(")") + 2)
				.split(" ");
			if (!group || state === "Z" || state === "X") return [];
			return {
				pid: Number(name),
				parent: Number(parent),
				group: Number(group),
				marker: markerIn(read(`/proc/${name}/environ`).split("\0")),
				command: read(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim(),
			};
		});
}

/** Source: ps(1) of macOS, where `-E` prints the environment after the command. */
function readPs(): ListedProcess[] {
	const columns = "pid=,ppid=,pgid=,stat=,command=";
	const table = execFileSync("ps", ["-axww", "-E", "-o", columns], {
		encoding: "utf8",
		maxBuffer: 64 * 1024 * 1024,
	});
	const rows = table.matchAll(/^ *(\d+) +(\d+) +(\d+) +([^Z\s]\S*) +(.*)$/gm);
	return [...rows].map(([, pid, parent, group, , command = ""]) => ({
		...{ pid: Number(pid), parent: Number(parent), group: Number(group) },
		...{ marker: markerIn(command.split(" ")), command },
	}));
}

function markerIn(variables: readonly string[]): Marker | undefined {
	const prefix = `${MARKER_VARIABLE}=`;
	const own = variables.find((each) => each.startsWith(prefix));
	return own === undefined ? undefined : parseMarker(own.slice(prefix.length));
}

/** Returns "" for a process that has just ended or that belongs to another user. */
function read(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return "";
	}
}
