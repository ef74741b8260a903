import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import { attachDebugger } from "../harness/debugger.ts";
import type { HostProcess, HostSetting } from "../harness/host-process.ts";
import { lives } from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";
import { everythingOf } from "../harness/stage-processes.ts";
import { ALONE, BOTH, withLayers } from "./layers.ts";

const SIZE = 2;
const CLOCK = fileURLToPath(
	new URL("../../programs/jumping-clock.ts", import.meta.url),
);
const DAY_MS = 86_400_000;
/** Hung after a second, so that a short spell would be enough for a mistake. */
const QUICK = {
	heartbeat: {
		intervalMs: 100,
		hungAfterMs: 1_000,
		missedPings: 3,
		pingTimeoutMs: 200,
	},
};

/** Something that happens to a host that lives: its workers must not be ended for it. */
interface Spell {
	readonly name: string;
	readonly fullMs: number;
	readonly setting?: Partial<HostSetting>;
	readonly selected?: number;
	cast(stage: Stage, host: HostProcess, ms: number): Promise<void>;
}

const SPELLS: readonly Spell[] = [
	{
		name: "the host is stopped",
		fullMs: 60_000,
		selected: 1,
		cast: stop,
	},
	{
		name: "the host is stopped while results are on their way",
		fullMs: 70_000,
		cast: async (stage, host, ms) => {
			const args = { megabytes: 8 };
			host.order({ id: "on the way", call: "large_result", args, times: 40 });
			await sleep(stage.random.fraction() * 1_000);
			await stop(stage, host, ms);
		},
	},
	{
		name: "the host's event loop is blocked",
		fullMs: 30_000,
		cast: async (_stage, host, ms) => {
			host.order({ blockMs: ms });
			await host.told("unblocked");
		},
	},
	{
		name: "a debugger holds the host at a breakpoint",
		fullMs: 30_000,
		selected: 1,
		setting: { nodeArguments: ["--inspect=127.0.0.1:0"] },
		cast: async (_stage, host, ms) => {
			await using session = await attachDebugger(host);
			await session.pause();
			await sleep(ms);
			await session.resume();
		},
	},
	{
		name: "the host's clock jumps a day forward",
		fullMs: 30_000,
		setting: jumping(DAY_MS),
		cast: jump,
	},
	{
		name: "the host's clock jumps a day back",
		fullMs: 30_000,
		setting: jumping(-DAY_MS),
		cast: jump,
	},
	{
		name: "suspended: host, workers and protections stop, the clock is later when they go on",
		fullMs: 60_000,
		selected: 1,
		setting: jumping(600_000),
		cast: async (stage, host, ms) => {
			const everything = everythingOf(stage);
			for (const { pid } of everything) process.kill(pid, "SIGSTOP");
			await sleep(ms);
			host.child.kill("SIGUSR2");
			for (const { pid } of everything) process.kill(pid, "SIGCONT");
			await host.told("jumped");
		},
	},
];

export const falseKills: readonly ChaosCase[] = [
	...SPELLS.map((spell) =>
		withLayers(ALONE, {
			row: "a host that lives is not judged dead, nor its workers hung",
			name: `${spell.name}, 4 s, hung would be after 1 s`,
			rounds: 5,
			parallel: 5,
			...(spell.selected ? { selected: spell.selected } : {}),
			round: (stage) => endure(stage, spell, 4_000, QUICK),
		}),
	),
	...SPELLS.map((spell) =>
		withLayers(BOTH, {
			row: "a host that lives is not judged dead, nor its workers hung",
			name: `${spell.name}, ${spell.fullMs / 1_000} s`,
			rounds: 2,
			parallel: 2,
			waits: true,
			round: (stage) => endure(stage, spell, spell.fullMs, {}),
		}),
	),
];

/** A worker that was ended, or replaced, was ended falsely: nothing was wrong with any. */
async function endure(
	stage: Stage,
	{ cast, setting }: Spell,
	ms: number,
	pool: Readonly<Record<string, unknown>>,
): Promise<RoundOutcome> {
	const host = await stage.ready({ size: SIZE, pool }, setting);
	await stage.sees("worker", SIZE);
	const workers = stage.witness.living("worker").map(({ process }) => process);
	await cast(stage, host, ms);
	// Time for a wrong verdict.
	await sleep(2_500);
	await host.call("pid");
	const ended = workers.filter((each) => each && !lives(each)).length;
	const exits = host.all("worker.exited");
	const falseKills = Math.max(ended, exits.length);
	const broken = exits.map((exit) => `Ended: ${JSON.stringify(exit)}.`);
	return { falseKills, broken, ...(await stage.killAfterwards(host)) };
}

function jumping(ms: number): Partial<HostSetting> {
	return {
		env: { CHAOS_JUMP_MS: String(ms) },
		nodeArguments: ["--import", CLOCK],
	};
}

async function stop(
	_stage: Stage,
	host: HostProcess,
	ms: number,
): Promise<void> {
	host.child.kill("SIGSTOP");
	await sleep(ms);
	host.child.kill("SIGCONT");
}

async function jump(
	_stage: Stage,
	host: HostProcess,
	ms: number,
): Promise<void> {
	host.child.kill("SIGUSR2");
	await host.told("jumped");
	await sleep(ms);
}
