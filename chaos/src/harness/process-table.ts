import { readdirSync, readFileSync } from "node:fs";

/** One process and no other: its pid, and when it began in ticks since boot. */
export interface SeenProcess {
	readonly pid: number;
	readonly startTicks: string;
	readonly parent: number;
	readonly group: number;
	readonly zombie: boolean;
}

/** Looks at one process; `undefined` when there is none. */
export function look(pid: number): SeenProcess | undefined {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
		// The name, in parentheses, may hold anything: fields count from its end.
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		const [state = "", parent, group] = fields;
		return {
			pid,
			parent: Number(parent),
			group: Number(group),
			zombie: /[ZX]/.test(state),
			startTicks: fields[19] ?? "",
		};
	} catch {
		return undefined; // Gone.
	}
}

/** The words that a process was started with; none when it is gone. */
export function commandLine(pid: number): readonly string[] {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
	} catch {
		return [];
	}
}

/** Whether this very process lives. One that waits to be collected does not. */
export function lives({ pid, startTicks }: SeenProcess): boolean {
	const now = look(pid);
	return now !== undefined && !now.zombie && now.startTicks === startTicks;
}

/** Every living process. */
export function everyProcess(): SeenProcess[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((name) => look(Number(name)) ?? [])
		.filter(({ zombie }) => !zombie);
}

/** The living processes whose environment has one of these texts. */
export function processesWith(texts: readonly string[]): SeenProcess[] {
	return everyProcess().filter(({ pid }) => {
		try {
			const environment = readFileSync(`/proc/${pid}/environ`, "latin1");
			return texts.some((text) => environment.includes(text));
		} catch {
			return false;
		}
	});
}

/** SIGKILL to this very process, if it lives. */
export function end(process_: SeenProcess): void {
	if (!lives(process_)) return;
	try {
		process.kill(process_.pid, "SIGKILL");
	} catch {
		// Gone meanwhile.
	}
}
