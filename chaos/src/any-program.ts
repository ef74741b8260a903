import { fileURLToPath } from "node:url";
import { PROGRAMS } from "../programs/any-program/programs.ts";
import type { ProtectionName } from "../programs/worker-adapter.ts";
import type { HostProcess } from "./harness/host-process.ts";
import { Stage } from "./harness/stage.ts";

/** How many processes there were, and how many after a second. */
export interface KillCount {
	readonly started: number;
	readonly left: number;
}

/** What is left of one program, by who started it, for each of `KILLS` in its order. */
export interface ProgramSummary {
	readonly name: string;
	/** With what people usually start it. */
	readonly usual: string;
	readonly left: Readonly<Record<LauncherName, readonly KillCount[]>>;
}

export type LauncherName = "usual" | "snakepit" | "guarded";

/** Who starts the program. */
interface Launcher {
	readonly name: LauncherName;
	readonly kind: "usual" | "pool";
	readonly protections: readonly ProtectionName[];
}

const LAUNCHERS: readonly Launcher[] = [
	{ name: "usual", kind: "usual", protections: [] },
	{ name: "snakepit", kind: "pool", protections: [] },
	{ name: "guarded", kind: "pool", protections: ["guard"] },
];

/** How the host is killed, in the order of the page. It leads a group, in which is what it does not put into another. */
export const KILLS: readonly {
	readonly name: string;
	readonly kill: (host: HostProcess) => void;
}[] = [
	{ name: "SIGKILL", kill: ({ pid }) => process.kill(pid, "SIGKILL") },
	{
		name: "SIGKILL of its group",
		kill: ({ pid }) => process.kill(-pid, "SIGKILL"),
	},
	{
		name: "SIGSTOP, then SIGKILL",
		kill: ({ pid }) => {
			process.kill(pid, "SIGSTOP");
			process.kill(pid, "SIGKILL");
		},
	},
];

const ENDED_MS = 1_000;
const HOST = fileURLToPath(
	new URL("../programs/any-program/host.ts", import.meta.url),
);

/** Kills hosts of each program in each way, and counts what is left of it after a second. */
export async function killHostsOfPrograms(
	only: readonly string[],
	rounds: number,
	seed: number,
	report: (summary: ProgramSummary) => void,
): Promise<readonly ProgramSummary[]> {
	const summaries: ProgramSummary[] = [];
	for (const { name, usual } of PROGRAMS) {
		if (only.length > 0 && !only.some((text) => name.includes(text))) continue;
		const left: Partial<Record<LauncherName, readonly KillCount[]>> = {};
		try {
			for (const launcher of LAUNCHERS)
				left[launcher.name] = await countsOf(name, launcher, rounds, seed);
		} catch (error) {
			console.log(`${name}: left out: ${(error as Error).message}`);
			continue;
		}
		const summary = { name, usual, left: left as ProgramSummary["left"] };
		summaries.push(summary);
		report(summary);
	}
	return summaries;
}

async function countsOf(
	name: string,
	launcher: Launcher,
	rounds: number,
	seed: number,
): Promise<readonly KillCount[]> {
	const counts: KillCount[] = [];
	for (const { kill } of KILLS) {
		const count = { started: 0, left: 0 };
		for (let round = 0; round < rounds; round++) {
			const once = await killOnce(name, launcher, kill, seed + round);
			count.started += once.started;
			count.left += once.left;
		}
		counts.push(count);
	}
	return counts;
}

async function killOnce(
	name: string,
	{ kind, protections }: Launcher,
	kill: (host: HostProcess) => void,
	seed: number,
): Promise<KillCount> {
	await using stage = await Stage.open(seed, protections);
	const host = stage.start(
		{},
		{
			before: ["setsid"],
			program: HOST,
			env: { CHAOS_PROGRAM: JSON.stringify({ name, kind }) },
		},
	);
	await host.fact("up");
	const started = stage.started();
	const at = performance.now();
	kill(host);
	const { leftovers } = await stage.untilGone(at, [], ENDED_MS);
	return { started, left: leftovers };
}
