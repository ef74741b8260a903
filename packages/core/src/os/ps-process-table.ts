import { spawnSync } from "node:child_process";
import type { ThreadFacts } from "../contract/world.ts";
import type { ProcessTable, TableEntry } from "./process-table.ts";

const COLUMNS = "pid=,ppid=,pgid=,state=,lstart=,time=,rss=,comm=";

/**
 * The process table of macOS, as `ps` prints it.
 *
 * Start times have a resolution of one second, and there is no pid namespace.
 */
export class PsProcessTable implements ProcessTable {
	readonly bootId: string;
	readonly pidNamespace = "0";

	constructor() {
		this.bootId = output("/usr/sbin/sysctl", ["-n", "kern.bootsessionuuid"]);
	}

	/** Seconds, of a clock that can be set: nothing follows from them. */
	moment(): undefined {
		return undefined;
	}

	entry(pid: number): TableEntry | "gone" | "unknown" {
		const text = output("ps", ["-o", COLUMNS, "-p", String(pid)]);
		const entry = parsePsLine(text);
		if (entry !== undefined) return entry;
		// `ps` prints nothing for a free pid, and nothing when it fails.
		try {
			process.kill(pid, 0);
			return "unknown";
		} catch (error) {
			const { code } = error as NodeJS.ErrnoException;
			return code === "ESRCH" ? "gone" : "unknown";
		}
	}

	entries(): readonly TableEntry[] {
		return output("ps", ["-axww", "-o", COLUMNS])
			.split("\n")
			.flatMap((line) => parsePsLine(line) ?? []);
	}

	/** `ps` shows threads without their times: the process counts as one. */
	threads(pid: number): readonly ThreadFacts[] {
		const thread = parsePsThread(
			output("ps", ["-o", "state=,time=", "-p", String(pid)]),
		);
		return thread === undefined ? [] : [thread];
	}

	children(pid: number): readonly number[] {
		return this.entries()
			.filter((entry) => entry.parentPid === pid)
			.map((entry) => entry.pid);
	}

	environment(
		pid: number,
		variables: readonly string[],
	): ReadonlyMap<string, string> {
		const text = output("ps", ["-Eww", "-o", "command=", "-p", String(pid)]);
		return variablesIn(text, variables);
	}

	/** What `ps` shows of an environment does not tell whether it is all of it. */
	carries(): "unknown" {
		return "unknown";
	}

	/** No guard runs here, and nothing else is asked. */
	halted(): "no" {
		return "no";
	}

	/** `ps` reports it on some systems, and not on macOS. */
	handles(): "unknown" {
		return "unknown";
	}
}

/** Reads one line of `ps -o` with our columns; `undefined` when it is not one. */
export function parsePsLine(line: string): TableEntry | undefined {
	const match =
		/^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\d+\s+[\d:]+\s+\d+)\s+([\d:.-]+)\s+(\d+)\s+(.*)$/.exec(
			line.trimEnd(),
		);
	if (match === null) return undefined;
	const [, pid, parentPid, groupId, state, start, time, rss, name] =
		match as unknown as string[];
	return {
		pid: Number(pid),
		parentPid: Number(parentPid),
		groupId: Number(groupId),
		sessionId: undefined,
		startTime: String(start).replace(/\s+/g, " "),
		startedAt: undefined,
		condition: conditionOf(String(state)),
		cpuTimeMs: parseCpuTime(String(time)),
		residentBytes: Number(rss) * 1024,
		name: String(name),
	};
}

/** Reads state and time; a U is an uninterruptible wait, an X behind it a tracer. Source: ps(1) of macOS. */
export function parsePsThread(line: string): ThreadFacts | undefined {
	const match = /^\s*([A-Z]\S*)\s+([\d:.-]+)\s*$/.exec(line);
	if (match === null) return undefined;
	const [, state, time] = match as unknown as [string, string, string];
	const held = state.startsWith("U") ? "uninterruptible" : "no";
	return {
		id: "process",
		cpuTimeMs: parseCpuTime(time),
		held: state.includes("X") ? "traced" : held,
	};
}

/** The first letter is the state, and an E behind it says that it is trying to exit. Source: ps(1). */
function conditionOf(state: string): TableEntry["condition"] {
	if (state.startsWith("Z")) return "zombie";
	return state.includes("E") ? "exiting" : "alive";
}

/** Reads `[[days-]hours:]minutes:seconds[.fraction]`. */
export function parseCpuTime(text: string): number {
	const [days, clock] = text.includes("-") ? text.split("-") : ["0", text];
	const seconds = String(clock)
		.split(":")
		.reduce((sum, part) => sum * 60 + Number(part), 0);
	return Math.round((Number(days) * 86_400 + seconds) * 1000);
}

/** The environment follows the arguments, blanks between them. */
export function variablesIn(
	text: string,
	variables: readonly string[],
): ReadonlyMap<string, string> {
	const found = new Map<string, string>();
	for (const word of text.split(/\s+/)) {
		const equals = word.indexOf("=");
		const variable = word.slice(0, equals);
		if (equals > 0 && variables.includes(variable))
			found.set(variable, word.slice(equals + 1));
	}
	return found;
}

function output(command: string, args: readonly string[]): string {
	const { stdout } = spawnSync(command, args, {
		encoding: "utf8",
		env: { LC_ALL: "C", PATH: "/bin:/usr/bin" },
		maxBuffer: 64 * 2 ** 20,
	});
	return (stdout ?? "").trim();
}
