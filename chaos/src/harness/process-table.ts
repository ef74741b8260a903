import { readdirSync, readFileSync } from "node:fs";

/** One process and no other: its pid, and when it began in ticks since boot. */
export interface SeenProcess {
	readonly pid: number;
	readonly startTicks: string;
	readonly parent: number;
	readonly zombie: boolean;
	/** By a signal. */
	readonly stopped: boolean;
}

/** What a process holds. */
export interface VitalSigns {
	readonly descriptors: number;
	/** Children that ended and were not collected. */
	readonly zombies: number;
	readonly threads: number;
	readonly residentMb: number;
	/** The most that was resident at once. */
	readonly peakMb: number;
}

/** Looks at one process; `undefined` when there is none. */
export function look(pid: number): SeenProcess | undefined {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
		// The name, in parentheses, may hold anything: fields count from its end.
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		const [state = "", parent] = fields;
		return {
			pid,
			parent: Number(parent),
			// One whose first thread has ended has the state of a zombie, and lives as long as another thread does.
			zombie: /[ZX]/.test(state) && Number(fields[17]) <= 1,
			stopped: state === "T",
			startTicks: fields[19] ?? "",
		};
	} catch {
		return undefined; // Gone.
	}
}

/** The words that a process was started with; none when it is gone. */
export function commandLine(pid: number): readonly string[] {
	return read(pid, "cmdline").split("\0");
}

/** Whether this very process lives. One that waits to be collected does not. */
export function lives({ pid, startTicks }: SeenProcess): boolean {
	const now = look(pid);
	return now !== undefined && !now.zombie && now.startTicks === startTicks;
}

/** Every living process. */
export function everyProcess(): SeenProcess[] {
	return everyEntry().filter(({ zombie }) => !zombie);
}

/** The living processes whose environment has one of these texts. */
export function processesWith(texts: readonly string[]): SeenProcess[] {
	return everyProcess().filter(({ pid }) => {
		const environment = read(pid, "environ");
		return texts.some((text) => environment.includes(text));
	});
}

/** SIGKILL to this very process, if it lives. */
export function end(process_: SeenProcess): void {
	if (lives(process_)) signal(process_.pid, "SIGKILL");
}

/** A signal to a process that may be gone. */
export function signal(pid: number, name: NodeJS.Signals): void {
	try {
		process.kill(pid, name);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
	}
}

/** Reads what a living process holds. */
export function vitalSigns(pid: number): VitalSigns {
	const status = readFileSync(`/proc/${pid}/status`, "utf8");
	const number = (field: string): number =>
		Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1]);
	return {
		descriptors: readdirSync(`/proc/${pid}/fd`).length,
		zombies: everyEntry().filter(
			({ zombie, parent }) => zombie && parent === pid,
		).length,
		threads: number("Threads"),
		residentMb: number("VmRSS") / 1024,
		peakMb: number("VmHWM") / 1024,
	};
}

/** A sentence when the memory of a process was above what it held before by more than so much; nothing otherwise. */
export function grown(
	pid: number,
	beforeMb: number,
	mostMb: number,
): readonly string[] {
	const { peakMb } = vitalSigns(pid);
	return peakMb - beforeMb <= mostMb
		? []
		: [
				`The host grew from ${Math.round(beforeMb)} to ${Math.round(peakMb)} MB.`,
			];
}

function everyEntry(): SeenProcess[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((name) => look(Number(name)) ?? []);
}

/** A file of a process; nothing when it is gone or another user's. */
function read(pid: number, file: string): string {
	try {
		return readFileSync(`/proc/${pid}/${file}`, "utf8");
	} catch {
		return "";
	}
}
