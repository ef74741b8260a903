import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** Clock ticks of /proc/PID/stat in a second: 100 on every Linux that Node runs on. */
const TICKS = 100;
const KILOBYTE = 1024;

/** Processor time that these processes have used, in seconds. Linux only. */
export function cpuSeconds(pids: readonly number[]): number {
	let ticks = 0;
	for (const pid of pids) {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		ticks += Number(fields[11]) + Number(fields[12]);
	}
	return ticks / TICKS;
}

/** Processor time of all processes that this one sees; of those that end meanwhile nothing counts. Linux only. */
export function cpuSecondsOfAll(): number {
	const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
	return pids.reduce((sum, pid) => {
		try {
			return sum + cpuSeconds([Number(pid)]);
		} catch {
			return sum; // It has ended.
		}
	}, 0);
}

/** Memory of a process in which shared pages count by their share, in bytes. Linux only. */
export function proportionalBytes(pid: number): number {
	return field(`/proc/${pid}/smaps_rollup`, "Pss");
}

export function residentBytes(pid: number): number {
	return field(`/proc/${pid}/status`, "VmRSS");
}

/** The most that has been resident since `forgetPeak`, in bytes. Linux only. */
export function peakBytes(pid: number): number {
	return field(`/proc/${pid}/status`, "VmHWM");
}

/** From now on `peakBytes` counts anew. */
export function forgetPeak(pid: number): void {
	writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

function field(path: string, name: string): number {
	const line = readFileSync(path, "utf8").match(
		new RegExp(`^${name}:\\s+(\\d+) kB`, "m"),
	);
	return Number(line?.[1]) * KILOBYTE;
}
