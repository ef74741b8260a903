import {
	closeSync,
	constants,
	openSync,
	readFileSync,
	readSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { ProcessIdentity } from "../contract/identity.ts";
import { withFallback } from "../contract/thrown.ts";
import type { MemoryKill } from "../contract/world.ts";

/** Where the kernel says what it killed because memory had run out. Exchanged in tests. */
export interface MemoryKillSources {
	/** How many processes of this program's control group it has killed so; `undefined` where that is not counted. */
	count(): number | undefined;
	/** The records of its log, oldest first; `undefined` where this user may not read it. */
	log(): Promise<readonly string[] | undefined>;
}

/** Of the first pid namespace, whose pids the kernel's log has. Source: include/linux/proc_ns.h, PROC_PID_INIT_INO. */
const FIRST_PID_NAMESPACE = "4026531836";

/**
 * Finds out whether the kernel killed a process because memory had run out. Only what the kernel says counts: a record of
 * its log that names the process, or, where that cannot be read, the counter of the control group, which has to have grown
 * within the last seconds.
 */
export class MemoryKills {
	readonly #sources: MemoryKillSources;
	/** At the last two looks, the older one first: what killed a process may have been counted before its end was seen. */
	#counts: readonly (number | undefined)[] = [];

	constructor(sources: MemoryKillSources = systemSources()) {
		this.#sources = sources;
	}

	/** Is called every few seconds while this program has processes. @param which the first one after a time without any. */
	look(which: "first" | "further"): void {
		const before = which === "first" ? undefined : this.#counts.at(-1);
		this.#counts = [before, this.#sources.count()];
	}

	/** See `ProcessHost.killedForMemory`. */
	async evidence(
		identity: Pick<ProcessIdentity, "pid" | "pidNamespace" | "startTime">,
		whose: "own" | "other",
	): Promise<MemoryKill | undefined> {
		const count = this.#sources.count();
		const before = this.#counts.find((each) => each !== undefined);
		if (identity.pidNamespace === FIRST_PID_NAMESPACE) {
			const log = await this.#sources.log();
			const record = log && killIn(log, identity);
			if (record !== undefined) return { kind: "killed", evidence: record };
			// An older one may have been overwritten, and what is empty may be no log.
			if (log !== undefined)
				return whose === "own" && log.length > 0 ? { kind: "none" } : undefined;
		}
		if (
			whose === "other" ||
			count === undefined ||
			before === undefined ||
			count <= before
		)
			return undefined;
		// One kill explains one end.
		this.#counts = this.#counts.map((each) =>
			each === undefined ? undefined : each + 1,
		);
		return {
			kind: "killed",
			evidence: `the control group of this program counts ${count} such kills (oom_kill), and ${before} a moment before`,
		};
	}
}

const KILLED = /^\d+,\d+,(\d+),.*?;(.*\b[Kk]illed process (\d+) \(.*)$/;
/** In which the start of a process is given: USER_HZ. Source: time(7). */
const TICKS_PER_SECOND = 100;
/** Figures and settings that tell little. */
const REST = /, (?:shmem-rss|UID|pgtables)[: ].*$/;

/** The record of the kernel's log about the end of a process. Source: Documentation/ABI/testing/dev-kmsg. */
export function killIn(
	log: readonly string[],
	{ pid, startTime }: Pick<ProcessIdentity, "pid" | "startTime">,
): string | undefined {
	const startedUs = (Number(startTime) / TICKS_PER_SECOND) * 1e6;
	for (const record of log.toReversed()) {
		const [, atUs, text = "", killed] = KILLED.exec(record) ?? [];
		if (Number(killed) !== pid) continue;
		// Another process had that pid before. The log's clock stands still while the machine sleeps.
		if (!(Number(atUs) >= startedUs)) return undefined;
		return `the kernel's log: ${text.replace(REST, "")}`;
	}
	return undefined;
}

function systemSources(): MemoryKillSources {
	let file: CounterFile | undefined | "unknown" = "unknown";
	return {
		count() {
			if (process.platform !== "linux") return undefined;
			if (file === "unknown") file = counterFile();
			return file === undefined ? undefined : countIn(file);
		},
		log: kernelLog,
	};
}

interface CounterFile {
	readonly path: string;
}

/** Source: cgroups(7), Documentation/admin-guide/cgroup-v2.rst, Documentation/admin-guide/cgroup-v1/memory.rst. */
function counterFile(): CounterFile | undefined {
	return withFallback(undefined, () => {
		const groups = readFileSync("/proc/self/cgroup", "utf8").split("\n");
		const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
		const first = groups.find((line) => /^\d+:[^:]*\bmemory\b/.test(line));
		const second = groups.find((line) => line.startsWith("0::"));
		const path =
			first !== undefined
				? pathIn(mounts, first, /- cgroup .*\bmemory\b/, "memory.oom_control")
				: second === undefined
					? undefined
					: pathIn(mounts, second, /- cgroup2 /, "memory.events");
		return path === undefined ? undefined : { path };
	});
}

/** @param group a line of /proc/self/cgroup. */
function pathIn(
	mounts: readonly string[],
	group: string,
	kind: RegExp,
	name: string,
): string | undefined {
	const mount = mounts.find((line) => kind.test(line));
	const [, , , root = "/", at] = mount?.split(" ") ?? [];
	if (at === undefined) return undefined;
	const own = group.slice(group.indexOf(":", group.indexOf(":") + 1) + 1);
	// A container may see the path of its group from outside, and its group at the top of the mount.
	const below =
		root !== "/" && own.startsWith(root) ? own.slice(root.length) : own;
	return join(at, below, name);
}

function countIn({ path }: CounterFile): number | undefined {
	return withFallback(undefined, () => {
		const count = /^oom_kill (\d+)$/m.exec(readFileSync(path, "latin1"))?.[1];
		return count === undefined ? undefined : Number(count);
	});
}

/** Longer than any record. */
const RECORD_BYTES = 16_384;
/** Between two turns of the event loop. */
const RECORDS_AT_ONCE = 500;

async function kernelLog(): Promise<readonly string[] | undefined> {
	let descriptor: number | undefined;
	try {
		descriptor = openSync(
			"/dev/kmsg",
			constants.O_RDONLY | constants.O_NONBLOCK,
		);
		const records: string[] = [];
		const buffer = Buffer.alloc(RECORD_BYTES);
		for (;;) {
			const record = nextRecord(descriptor, buffer);
			if (record === "end") return records;
			if (record !== "lost") records.push(record);
			if (records.length % RECORDS_AT_ONCE === 0) await setImmediate();
		}
	} catch {
		return undefined;
	} finally {
		if (descriptor !== undefined) closeSync(descriptor);
	}
}

function nextRecord(
	descriptor: number,
	buffer: Buffer,
): string | "end" | "lost" {
	try {
		const length = readSync(descriptor, buffer, 0, buffer.length, null);
		return buffer.toString("utf8", 0, length).trimEnd();
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "EAGAIN") return "end";
		// It was overwritten meanwhile.
		if (code === "EPIPE") return "lost";
		throw error;
	}
}
