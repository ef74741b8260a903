import { readdirSync, readFileSync } from "node:fs";
import { look } from "./process-table.ts";

/** What a process holds. */
export interface VitalSigns {
	readonly descriptors: number;
	/** Children that ended and were not collected. */
	readonly zombies: number;
	readonly residentMb: number;
	/** The most that was resident at once. */
	readonly peakMb: number;
}

/** Reads what a living process holds. */
export function vitalSigns(pid: number): VitalSigns {
	const status = readFileSync(`/proc/${pid}/status`, "utf8");
	const megabytes = (field: string): number =>
		Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1]) / 1024;
	return {
		descriptors: readdirSync(`/proc/${pid}/fd`).length,
		zombies: zombiesOf(pid),
		residentMb: megabytes("VmRSS"),
		peakMb: megabytes("VmHWM"),
	};
}

function zombiesOf(parent: number): number {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((name) => look(Number(name)) ?? [])
		.filter((each) => each.zombie && each.parent === parent).length;
}
