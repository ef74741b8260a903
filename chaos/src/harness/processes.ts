import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One process and no other: its pid, and when it began in ticks since boot. */
export interface SeenProcess {
	readonly pid: number;
	readonly startTicks: string;
	readonly parent: number;
	readonly zombie: boolean;
}

/** Reads one process; `undefined` when there is none. */
export function look(pid: number): SeenProcess | undefined {
	const stat = read(pid, "stat");
	if (stat === "") return undefined;
	// The name, in parentheses, may hold anything: fields count from its end.
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	const [state = "", parent] = fields;
	return {
		pid,
		parent: Number(parent),
		// A process whose first thread has ended has the state of a zombie, and lives as long as another thread does.
		zombie: /[ZX]/.test(state) && Number(fields[17]) <= 1,
		startTicks: fields[19] ?? "",
	};
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

/** The processes of a round that live: by their environment, or by their arguments where they cleared that. */
export function startedIn(
	directory: string,
	exitWatcher: string,
): readonly SeenProcess[] {
	const endings = [
		`.stay('forgotten', '${exitWatcher}')`,
		join(directory, "daemon"),
	];
	return [
		...processesWith([`CHAOS_STAGE=${directory}\0`]),
		...everyProcess().filter(({ pid }) =>
			commandLine(pid).some((argument) =>
				endings.some((ending) => argument.endsWith(ending)),
			),
		),
	];
}

/** All descendants of a process. */
export function descendantsOf(
	pid: number,
	all: readonly SeenProcess[] = everyProcess(),
): readonly SeenProcess[] {
	const children = all.filter(({ parent }) => parent === pid);
	return children.flatMap((child) => [child, ...descendantsOf(child.pid, all)]);
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

/** What a process holds. */
export function vitalSigns(pid: number) {
	const status = read(pid, "status");
	const number = (field: string): number =>
		Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1]);
	return {
		descriptors: readdirSync(`/proc/${pid}/fd`).length,
		/** Children that ended and were not collected. */
		zombies: everyEntry().filter(
			({ zombie, parent }) => zombie && parent === pid,
		).length,
		threads: number("Threads"),
		residentMb: number("VmRSS") / 1024,
		/** The most that was resident. */
		peakMb: number("VmHWM") / 1024,
	};
}

/** For a report. */
export function inWords({ pid }: Pick<SeenProcess, "pid">): string {
	return `${pid}: ${commandLine(pid).join(" ").slice(0, 80)}`;
}

function everyEntry(): SeenProcess[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((name) => look(Number(name)) ?? []);
}

/** A file of a process; nothing when it is gone or another user's. */
function read(pid: number, file: string): string {
	try {
		return readFileSync(`/proc/${pid}/${file}`, "latin1");
	} catch {
		return "";
	}
}
