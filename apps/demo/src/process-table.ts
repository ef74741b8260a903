import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import {
	MARKER_VARIABLE,
	type Marker,
	parseMarker,
} from "@snakepit/core/infrastructure";

/** A living process, as the system shows it. */
export interface SeenProcess {
	readonly pid: number;
	readonly parent: number;
	/** Its process group. */
	readonly group: number;
	/** From its environment; `undefined` without one, and where the environment may not be read. */
	readonly marker: Marker | undefined;
	readonly command: string;
}

/** Looks at every process of the system but this one. The dead that wait to be collected are none. */
export function seeProcesses(): SeenProcess[] {
	const seen = process.platform === "linux" ? seeInProc() : seeByPs();
	return seen.filter(({ pid }) => pid !== process.pid);
}

function seeInProc(): SeenProcess[] {
	return readdirSync("/proc")
		.filter((name) => /^[0-9]+$/.test(name))
		.flatMap((name) => {
			const stat = read(`/proc/${name}/stat`);
			// The name, in parentheses, may hold anything: fields count from its end.
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

/** Source: ps(1) of macOS, where `-E` shows the environment behind the command. */
function seeByPs(): SeenProcess[] {
	const columns = "pid=,ppid=,pgid=,stat=,command=";
	const table = execFileSync("ps", ["-axww", "-E", "-o", columns], {
		encoding: "utf8",
		maxBuffer: 64 * 1024 * 1024,
	});
	return readPsTable(table);
}

/** Reads rows of: pid, parent, group, state, command and environment. */
export function readPsTable(table: string): SeenProcess[] {
	return table.split("\n").flatMap((row) => {
		const [, pid, parent, group, state, command = ""] =
			/^ *(\d+) +(\d+) +(\d+) +(\S+) +(.*)$/.exec(row) ?? [];
		if (!pid || state?.startsWith("Z")) return [];
		return {
			pid: Number(pid),
			parent: Number(parent),
			group: Number(group),
			marker: markerIn(command.split(" ")),
			command,
		};
	});
}

function markerIn(variables: readonly string[]): Marker | undefined {
	const prefix = `${MARKER_VARIABLE}=`;
	const own = variables.find((each) => each.startsWith(prefix));
	return own === undefined ? undefined : parseMarker(own.slice(prefix.length));
}

/** A process that ends meanwhile, or that is not ours to look into, has nothing to read. */
function read(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return "";
	}
}
