import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { StartError } from "../contract/errors.ts";
import {
	GUARD_VARIABLE,
	MARKER_VARIABLE,
	processKey,
	type RunId,
} from "../contract/identity.ts";
import { withFallback } from "../contract/thrown.ts";
import type { ThreadFacts } from "../contract/world.ts";
import { DescriptorReserve } from "./descriptors.ts";
import { outOfDescriptors } from "./spawn-failure.ts";

/** The system's list of processes, as one operating system offers it. */
export interface ProcessTable {
	/** This boot of the machine. */
	readonly bootId: string;
	/** Of this process; `"0"` where the system has none. */
	readonly pidNamespace: string;
	/** Now, on the clock of {@link TableEntry.startedAt}; `undefined` where there is none. */
	moment(): number | undefined;
	/** Looks at one pid. */
	entry(pid: number): TableEntry | "gone" | "unknown";
	/** Everything that can be seen. */
	entries(): readonly TableEntry[];
	/** The threads of one process; empty when they cannot be read. */
	threads(pid: number): readonly ThreadFacts[];
	/** The pids of the living and dead children of one process, its threads' included; empty when they cannot be read. */
	children(pid: number): readonly number[];
	/** The values of `variables` in the environment that a process was started with; empty when it cannot be read. */
	environment(
		pid: number,
		variables: readonly string[],
	): ReadonlyMap<string, string>;
	/** Whether a process was stopped by a signal, or by what traces it. */
	halted(pid: number): "no" | "stopped" | "traced";
	/**
	 * Whether a process was started with the marker of a run or with its id as an argument, or is a guard.
	 * `"unknown"`: its environment cannot be read, is empty, or was overwritten.
	 */
	carries(pid: number, runId: RunId): "yes" | "no" | "unknown";
	/** Whether a process has a handler of its own for the signal of this number. */
	handles(pid: number, signal: number): "yes" | "no" | "unknown";
}

/** One process. */
export interface TableEntry {
	readonly pid: number;
	readonly parentPid: number;
	readonly groupId: number;
	/** `undefined` where the system does not report it. */
	readonly sessionId: number | undefined;
	/** As in `ProcessIdentity`. */
	readonly startTime: string;
	/** The start time as a number of ticks of {@link ProcessTable.moment}; `undefined` where there is none. */
	readonly startedAt: number | undefined;
	/**
	 * `"exiting"`: the kernel takes down all of its threads. A zombie is dead: it only
	 * waits to be noticed.
	 */
	readonly condition: "alive" | "exiting" | "zombie";
	readonly cpuTimeMs: number;
	readonly residentBytes: number;
	readonly name: string;
}

/** One for the whole program: what looks last is never closed, and a program may open a run often. */
let reserve: DescriptorReserve | undefined;

/**
 * The process table of Linux, read from `/proc`.
 *
 * Source: proc_pid_stat(5), proc_pid_status(5), getauxval(3).
 */
export class LinuxProc implements ProcessTable {
	readonly bootId: string;
	readonly pidNamespace: string;
	readonly #units: Units;
	readonly #reserve: DescriptorReserve;

	/** @throws StartError `PLATFORM_UNSUPPORTED` when `/proc` does not show the pid namespace of this process. */
	constructor() {
		reserve ??= new DescriptorReserve();
		this.#reserve = reserve;
		requireOwnProc(ownNumber());
		this.bootId = readFileSync(
			"/proc/sys/kernel/random/boot_id",
			"latin1",
		).trim();
		this.pidNamespace = readlinkSync("/proc/self/ns/pid").replace(/\D/g, "");
		this.#units = readUnits();
	}

	/** The text of a file of /proc. Throws what the system says. */
	#text(path: string): string {
		return this.#reserve.use(() => readFileSync(path, "latin1"));
	}

	moment(): number | undefined {
		return withFallback(undefined, () => {
			const uptime = Number.parseFloat(this.#text("/proc/uptime"));
			const ticks = Math.floor(uptime * this.#units.ticksPerSecond + ROUNDING);
			return Number.isNaN(ticks) ? undefined : ticks;
		});
	}

	entry(pid: number): TableEntry | "gone" | "unknown" {
		try {
			const entry = this.#reserve.use(() =>
				this.#entry(readFileSync(`/proc/${pid}/stat`, "utf8")),
			);
			return entry ?? "unknown";
		} catch (error) {
			const { code } = error as NodeJS.ErrnoException;
			if (code !== "ENOENT" && code !== "ESRCH") return "unknown";
			// Where /proc is mounted with hidepid, others' processes look missing.
			return exists(pid) ? "unknown" : "gone";
		}
	}

	/** A line is that of the first thread, which may have ended alone: as long as another one runs, the process lives. */
	#entry(text: string): TableEntry | undefined {
		const entry = parseStat(text, this.#units);
		return entry?.condition === "exiting" && this.#hasLivingThread(entry.pid)
			? { ...entry, condition: "alive" }
			: entry;
	}

	/** For a look that has the reserve: throws where that is not enough. */
	#hasLivingThread(pid: number): boolean {
		const lives = (path: string): boolean =>
			parseStat(readFileSync(path, "latin1"), this.#units)?.condition ===
			"alive";
		return readdirSync(`/proc/${pid}/task`).some((task) => {
			try {
				return lives(`/proc/${pid}/task/${task}/stat`);
			} catch (error) {
				if (outOfDescriptors(error)) throw error;
				return false; // It ended while the list was read.
			}
		});
	}

	entries(): readonly TableEntry[] {
		return this.#reserve.use(() => this.#everyEntry());
	}

	#everyEntry(): readonly TableEntry[] {
		const entries: TableEntry[] = [];
		for (const name of readdirSync("/proc")) {
			if (!/^[0-9]/.test(name)) continue;
			try {
				const text = readFileSync(`/proc/${name}/stat`, "utf8");
				const entry = this.#entry(text);
				if (entry !== undefined) entries.push(entry);
			} catch (error) {
				// Otherwise it ended while the list was read.
				if (outOfDescriptors(error)) throw error;
			}
		}
		return entries;
	}

	threads(pid: number): readonly ThreadFacts[] {
		const threads: ThreadFacts[] = [];
		for (const task of this.#tasks(pid)) {
			try {
				const text = this.#text(`/proc/${pid}/task/${task}/stat`);
				const thread = parseThread(text, this.#units);
				if (thread !== undefined) threads.push(thread);
			} catch {
				// It ended while the list was read.
			}
		}
		return threads;
	}

	#tasks(pid: number): readonly string[] {
		// Fallback: it has ended.
		return withFallback([], () =>
			this.#reserve.use(() => readdirSync(`/proc/${pid}/task`)),
		);
	}

	children(pid: number): readonly number[] {
		const children: number[] = [];
		try {
			for (const task of this.#tasks(pid)) {
				const text = this.#text(`/proc/${pid}/task/${task}/children`);
				const pids = text.split(" ").map(Number);
				children.push(...pids.filter((child) => child > 0));
			}
		} catch {
			// It has ended, or this kernel does not list children.
		}
		return children;
	}

	environment(
		pid: number,
		variables: readonly string[],
	): ReadonlyMap<string, string> {
		const values = new Map<string, string>();
		try {
			const text = this.#environment(pid);
			for (const variable of variables) {
				const value = environmentValue(text, variable);
				if (value !== undefined) values.set(variable, value);
			}
		} catch {
			// Another user's, privileged, or gone.
		}
		return values;
	}

	carries(pid: number, runId: RunId): "yes" | "no" | "unknown" {
		// Fallback: another user's, privileged, or gone.
		return withFallback("unknown", () => {
			const args = this.#text(`/proc/${pid}/cmdline`);
			return carriesRun(this.#environment(pid), args, runId);
		});
	}

	#environment(pid: number): string {
		const text = this.#environ(`/proc/${pid}`);
		if (text !== "") return text;
		// A first thread that has ended has none: it is read from another one.
		const [, ...others] = this.#tasks(pid);
		for (const task of others) {
			const another = this.#environ(`/proc/${pid}/task/${task}`);
			if (another !== "") return another;
		}
		return "";
	}

	#environ(directory: string): string {
		try {
			return this.#text(`${directory}/environ`);
		} catch (error) {
			// Without memory, before Linux 6.16 an empty file.
			if ((error as NodeJS.ErrnoException).code === "ESRCH") return "";
			throw error;
		}
	}

	halted(pid: number): "no" | "stopped" | "traced" {
		// Fallback: it has ended.
		return withFallback("no", () => {
			const text = this.#text(`/proc/${pid}/stat`);
			const state = text.charAt(text.lastIndexOf(")") + 2);
			return state === "T" ? "stopped" : state === "t" ? "traced" : "no";
		});
	}

	handles(pid: number, signal: number): "yes" | "no" | "unknown" {
		// Fallback: it has ended, or is another user's.
		return withFallback("unknown", () => {
			const text = this.#text(`/proc/${pid}/status`);
			return caughtIn(text, signal);
		});
	}
}

/**
 * A `/proc` that was mounted in another pid namespace shows other processes under
 * the same numbers: this one is then another number there, or none.
 *
 * @param seen where `/proc/self` leads to; `undefined` when it cannot be read.
 * @throws StartError `PLATFORM_UNSUPPORTED` unless that is this process.
 */
export function requireOwnProc(seen: string | undefined): void {
	if (seen === String(process.pid)) return;
	throw new StartError({
		code: "PLATFORM_UNSUPPORTED",
		message:
			seen === undefined
				? `/proc/self cannot be read, so no process could be ended safely. Mount /proc: mount -t proc proc /proc.`
				: `/proc shows another pid namespace: this process has pid ${process.pid} here and ${seen} there, so Snakepit could kill the wrong processes. Mount a /proc of this namespace: unshare --pid --fork --mount-proc, or mount -t proc proc /proc inside of it.`,
	});
}

function ownNumber(): string | undefined {
	return withFallback(undefined, () => readlinkSync("/proc/self"));
}

/** Whether `/proc` hides from this process what it may not trace. */
export function hidesProcesses(): boolean {
	// Fallback: not Linux, or no descriptor is free.
	return withFallback(false, () =>
		isHiding(
			readFileSync("/proc/self/mountinfo", "utf8"),
			readFileSync("/proc/self/status", "utf8"),
		),
	);
}

const CAP_SYS_PTRACE = 19n;

/**
 * Whether `/proc` is mounted with `hidepid`, and neither a right nor a group of this process makes an exception.
 *
 * Source: proc(5), proc_pid_mountinfo(5).
 *
 * @param mounts the text of `/proc/self/mountinfo`.
 * @param status the text of `/proc/self/status`.
 */
export function isHiding(mounts: string, status: string): boolean {
	// The last one covers those before it.
	const mount = mounts
		.split("\n")
		.filter((line) => line.split(" ")[4] === "/proc")
		.at(-1);
	const options = mount?.split(" ").at(-1)?.split(",") ?? [];
	const option = (name: string): string | undefined =>
		options.find((each) => each.startsWith(`${name}=`))?.split("=")[1];
	const mode = option("hidepid") ?? "0";
	if (mode === "0" || mode === "off") return false;
	const field = (name: string): string =>
		new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "";
	const rights = BigInt(`0x${field("CapEff") || "0"}`);
	if ((rights >> CAP_SYS_PTRACE) & 1n) return false;
	const groups = `${field("Gid")} ${field("Groups")}`.split(/\s+/);
	const isSpared = groups.includes(option("gid") ?? "0");
	return mode === "4" || mode === "ptraceable" || !isSpared;
}

/** Whether a signal is in the mask of those that are caught, in the text of `/proc/PID/status`. */
export function caughtIn(
	text: string,
	signal: number,
): "yes" | "no" | "unknown" {
	const mask = /^SigCgt:\s*([0-9a-f]+)$/m.exec(text)?.[1];
	if (mask === undefined) return "unknown";
	return (BigInt(`0x${mask}`) >> BigInt(signal - 1)) & 1n ? "yes" : "no";
}

/** Set when the kernel begins to take a thread down. Source: include/linux/sched.h. */
const PF_EXITING = 4;

/** Of hundredths of a second that binary numbers cannot hold exactly; far less than a tick. */
const ROUNDING = 1e-4;

/** What the kernel counts in. */
interface Units {
	readonly pageBytes: number;
	readonly ticksPerSecond: number;
}

/**
 * Reads one line of `/proc/PID/stat`.
 *
 * The name is between the first and the last parenthesis: it may hold spaces
 * and parentheses itself. Returns `undefined` when the line is not one.
 */
export function parseStat(text: string, units: Units): TableEntry | undefined {
	const open = text.indexOf("(");
	const close = text.lastIndexOf(")");
	// The first is field 3 of the manual page.
	const fields = text.slice(close + 2).split(" ");
	const startTime = fields[19];
	if (open < 1 || close < open || startTime === undefined) return undefined;
	const number = (field: number): number => Number(fields[field - 3]);
	// A leader that ended before its other threads is shown as a zombie too.
	const dead = /^[ZXx]/.test(fields[0] ?? "") && number(20) <= 1;
	const exiting = (number(9) & PF_EXITING) !== 0;
	return {
		pid: Number(text.slice(0, open)),
		parentPid: number(4),
		groupId: number(5),
		sessionId: number(6),
		startTime,
		startedAt: number(22),
		condition: dead ? "zombie" : exiting ? "exiting" : "alive",
		cpuTimeMs: ((number(14) + number(15)) * 1000) / units.ticksPerSecond,
		residentBytes: number(24) * units.pageBytes,
		name: text.slice(open + 1, close),
	};
}

/** By the letter of the state. Source: proc_pid_stat(5). */
const HELD: Readonly<Record<string, ThreadFacts["held"]>> = {
	D: "uninterruptible",
	t: "traced",
	T: "stopped",
};

/** Reads one line of `/proc/PID/task/TID/stat`, which is as that of a process. Returns `undefined` for a thread that has ended. */
export function parseThread(
	text: string,
	units: Units,
): ThreadFacts | undefined {
	const entry = parseStat(text, units);
	if (entry === undefined) return undefined;
	const state = text.charAt(text.lastIndexOf(")") + 2);
	// It has ended, and its process was not reaped yet.
	if (/[ZXx]/.test(state)) return undefined;
	return {
		id: processKey(entry),
		cpuTimeMs: entry.cpuTimeMs,
		held: HELD[state] ?? "no",
	};
}

/** Decides {@link ProcessTable.carries} from the texts of `/proc/PID/environ` and `/proc/PID/cmdline`. */
export function carriesRun(
	environment: string,
	args: string,
	runId: RunId,
): "yes" | "no" | "unknown" {
	const marker = environmentValue(environment, MARKER_VARIABLE);
	if (marker?.startsWith(`${runId}:`)) return "yes";
	// A guard adopts what workers leave.
	if (environmentValue(environment, GUARD_VARIABLE) !== undefined) return "yes";
	if (args.includes(`\0--run-id\0${runId}\0`)) return "yes";
	// Programs that change their title write it where their environment was.
	const isAsStarted = /^(?:[^=\0]+=[^\0]*\0)+$/.test(environment);
	return isAsStarted ? "no" : "unknown";
}

/** Finds one variable in the text of `/proc/PID/environ`. */
export function environmentValue(
	text: string,
	variable: string,
): string | undefined {
	const start = text.startsWith(`${variable}=`)
		? 0
		: text.indexOf(`\0${variable}=`) + 1;
	if (start === 0 && !text.startsWith(`${variable}=`)) return undefined;
	const end = text.indexOf("\0", start);
	const from = start + variable.length + 1;
	return text.slice(from, end === -1 ? undefined : end);
}

const AT_PAGESZ = 6;
const AT_CLKTCK = 17;

/** Pages of 64 KiB exist. The auxiliary vector says so without starting `getconf`. */
function readUnits(): Units {
	const units = { pageBytes: 4096, ticksPerSecond: 100 };
	try {
		const vector = readFileSync("/proc/self/auxv");
		for (let at = 0; at + 16 <= vector.length; at += 16) {
			const value = Number(vector.readBigUInt64LE(at + 8));
			const key = vector.readBigUInt64LE(at);
			if (key === BigInt(AT_PAGESZ)) units.pageBytes = value;
			if (key === BigInt(AT_CLKTCK)) units.ticksPerSecond = value;
		}
	} catch {
		// A process that is not dumpable may not read its own: nearly all machines have these.
	}
	return units;
}

function exists(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code !== "ESRCH";
	}
}

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

	/** A process that is traced is shown as one that is stopped. Source: ps(1) of macOS. */
	halted(pid: number): "no" | "stopped" {
		const state = output("ps", ["-o", "state=", "-p", String(pid)]);
		return state.startsWith("T") ? "stopped" : "no";
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

/** Reads state and time; a U is an uninterruptible wait, a T a stop, an X behind it a tracer. Source: ps(1) of macOS. */
export function parsePsThread(line: string): ThreadFacts | undefined {
	const match = /^\s*([A-Z]\S*)\s+([\d:.-]+)\s*$/.exec(line);
	if (match === null) return undefined;
	const [, state, time] = match as unknown as [string, string, string];
	const held = state.startsWith("U")
		? "uninterruptible"
		: state.startsWith("T")
			? "stopped"
			: "no";
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
	const values = new Map<string, string>();
	for (const word of text.split(/\s+/)) {
		const equals = word.indexOf("=");
		const variable = word.slice(0, equals);
		if (equals > 0 && variables.includes(variable))
			values.set(variable, word.slice(equals + 1));
	}
	return values;
}

function output(command: string, args: readonly string[]): string {
	const { stdout } = spawnSync(command, args, {
		encoding: "utf8",
		env: { LC_ALL: "C", PATH: "/bin:/usr/bin" },
		maxBuffer: 64 * 2 ** 20,
	});
	return (stdout ?? "").trim();
}
