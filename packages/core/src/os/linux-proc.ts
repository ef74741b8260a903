import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { StartError } from "../contract/errors.ts";
import {
	GUARD_VARIABLE,
	MARKER_VARIABLE,
	processKey,
	type RunId,
} from "../contract/identity.ts";
import type { ThreadFacts } from "../contract/world.ts";
import { DescriptorReserve } from "./descriptor-reserve.ts";
import type { ProcessTable, TableEntry } from "./process-table.ts";
import { outOfDescriptors } from "./system-refusal.ts";

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

	moment(): number | undefined {
		try {
			const text = this.#reserve.use(() =>
				readFileSync("/proc/uptime", "latin1"),
			);
			const ticks = Math.floor(
				Number.parseFloat(text) * this.#units.ticksPerSecond + ROUNDING,
			);
			return Number.isNaN(ticks) ? undefined : ticks;
		} catch {
			return undefined;
		}
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
		const found: TableEntry[] = [];
		for (const name of readdirSync("/proc")) {
			if (!/^[0-9]/.test(name)) continue;
			try {
				const text = readFileSync(`/proc/${name}/stat`, "utf8");
				const entry = this.#entry(text);
				if (entry !== undefined) found.push(entry);
			} catch (error) {
				// Otherwise it ended while the list was read.
				if (outOfDescriptors(error)) throw error;
			}
		}
		return found;
	}

	threads(pid: number): readonly ThreadFacts[] {
		const found: ThreadFacts[] = [];
		for (const task of this.#tasks(pid)) {
			try {
				const path = `/proc/${pid}/task/${task}/stat`;
				const text = this.#reserve.use(() => readFileSync(path, "latin1"));
				const thread = parseThread(text, this.#units);
				if (thread !== undefined) found.push(thread);
			} catch {
				// It ended while the list was read.
			}
		}
		return found;
	}

	#tasks(pid: number): readonly string[] {
		try {
			return this.#reserve.use(() => readdirSync(`/proc/${pid}/task`));
		} catch {
			return []; // It has ended.
		}
	}

	children(pid: number): readonly number[] {
		const found: number[] = [];
		try {
			const tasks = this.#reserve.use(() => readdirSync(`/proc/${pid}/task`));
			for (const task of tasks) {
				const path = `/proc/${pid}/task/${task}/children`;
				const text = this.#reserve.use(() => readFileSync(path, "latin1"));
				const pids = text.split(" ").map(Number);
				found.push(...pids.filter((child) => child > 0));
			}
		} catch {
			// It has ended, or this kernel does not list children.
		}
		return found;
	}

	environment(
		pid: number,
		variables: readonly string[],
	): ReadonlyMap<string, string> {
		const found = new Map<string, string>();
		try {
			const text = this.#environment(pid);
			for (const variable of variables) {
				const value = environmentValue(text, variable);
				if (value !== undefined) found.set(variable, value);
			}
		} catch {
			// Another user's, privileged, or gone.
		}
		return found;
	}

	carries(pid: number, runId: RunId): "yes" | "no" | "unknown" {
		try {
			const args = this.#reserve.use(() =>
				readFileSync(`/proc/${pid}/cmdline`, "latin1"),
			);
			return carriesRun(this.#environment(pid), args, runId);
		} catch {
			return "unknown"; // Another user's, privileged, or gone.
		}
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
			return this.#reserve.use(() =>
				readFileSync(`${directory}/environ`, "latin1"),
			);
		} catch (error) {
			// Without memory, before Linux 6.16 an empty file.
			if ((error as NodeJS.ErrnoException).code === "ESRCH") return "";
			throw error;
		}
	}

	halted(pid: number): "no" | "stopped" | "traced" {
		try {
			const text = this.#reserve.use(() =>
				readFileSync(`/proc/${pid}/stat`, "latin1"),
			);
			const state = text.charAt(text.lastIndexOf(")") + 2);
			return state === "T" ? "stopped" : state === "t" ? "traced" : "no";
		} catch {
			return "no"; // It has ended.
		}
	}

	handles(pid: number, signal: number): "yes" | "no" | "unknown" {
		try {
			const text = this.#reserve.use(() =>
				readFileSync(`/proc/${pid}/status`, "latin1"),
			);
			return caughtIn(text, signal);
		} catch {
			return "unknown"; // It has ended, or is another user's.
		}
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
		ran: "no",
		message:
			seen === undefined
				? `/proc/self cannot be read, so no process could be ended safely. Mount /proc: mount -t proc proc /proc.`
				: `/proc shows another pid namespace: this process has pid ${process.pid} here and ${seen} there, so Snakepit could kill the wrong processes. Mount a /proc of this namespace: unshare --pid --fork --mount-proc, or mount -t proc proc /proc inside of it.`,
	});
}

function ownNumber(): string | undefined {
	try {
		return readlinkSync("/proc/self");
	} catch {
		return undefined;
	}
}

/** Whether `/proc` hides from this process what it may not trace. */
export function hidesProcesses(): boolean {
	try {
		return isHiding(
			readFileSync("/proc/self/mountinfo", "utf8"),
			readFileSync("/proc/self/status", "utf8"),
		);
	} catch {
		return false; // Not Linux, or no descriptor is free.
	}
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
		held: state === "D" ? "uninterruptible" : state === "t" ? "traced" : "no",
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
