import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PYTHON } from "../../programs/worker-adapter.ts";
import {
	BOTH,
	type ChaosCase,
	family,
	GUARD,
	type RoundOutcome,
	unless,
} from "../case.ts";
import type { HostProcess, HostSetting } from "../harness/host-process.ts";
import { namespacesUnavailable, PID_NAMESPACE } from "../harness/isolation.ts";
import { end, everyProcess, lives } from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";

const SIZE = 2;
/** Long enough for every periodic check of a parent. */
const WATCHED_MS = 3_000;
const ENDED_MS = 5_000;
const DAY_MS = 86_400_000;
/** Hung after a second, so that a short spell would be enough for a mistake. */
const QUICK = { heartbeat: { intervalMs: 100, hungAfterMs: 1_000 } };
const program = (name: string): string =>
	fileURLToPath(new URL(`../../programs/${name}`, import.meta.url));

/** Happens to a living host: its workers must not be ended because of it. */
interface Spell {
	readonly name: string;
	readonly seconds: number;
	readonly setting?: Partial<HostSetting>;
	readonly selected?: number;
	readonly cast: (
		host: HostProcess,
		ms: number,
		stage: Stage,
	) => Promise<unknown>;
}

const SPELLS: readonly Spell[] = [
	{ name: "the host is stopped", seconds: 60, selected: 1, cast: stop },
	{
		name: "the host is stopped while results are in transit",
		seconds: 70,
		cast: async (host, ms, { chance }) => {
			host.call("large_result", { megabytes: 8 }, 0, 40);
			await sleep(chance.fraction() * 1_000);
			await stop(host, ms);
		},
	},
	{
		name: "the host's event loop is blocked",
		seconds: 30,
		cast: (host, ms) => host.order("block", ms),
	},
	{
		name: "a debugger holds the host at a breakpoint",
		seconds: 30,
		selected: 1,
		setting: { nodeArguments: ["--inspect=127.0.0.1:0"] },
		cast: holdAtBreakpoint,
	},
	{
		name: "the host's clock jumps a day forward",
		seconds: 30,
		setting: jumping(DAY_MS),
		cast: jump,
	},
	{
		name: "the host's clock jumps a day back",
		seconds: 30,
		setting: jumping(-DAY_MS),
		cast: jump,
	},
	{
		name: "suspended: host, workers and protections stop, and the clock has advanced when they continue",
		seconds: 60,
		selected: 1,
		setting: jumping(600_000),
		cast: async (host, ms, stage) => {
			const everything = stage.everything();
			for (const { pid } of everything) process.kill(pid, "SIGSTOP");
			await sleep(ms);
			host.child.kill("SIGUSR2");
			for (const { pid } of everything) process.kill(pid, "SIGCONT");
			await host.fact("jumped");
		},
	},
];

export const falseKills: readonly ChaosCase[] = family(
	"a living host is not judged dead, and its workers are not judged hung",
	[GUARD],
	[
		...SPELLS.map((spell) => ({
			name: `${spell.name}, 4 s, hung would be after 1 s`,
			rounds: 5,
			parallel: 5,
			...(spell.selected && { selected: spell.selected }),
			round: (stage: Stage) => endure(stage, spell, 4_000, QUICK),
		})),
		...SPELLS.map((spell) => ({
			name: `${spell.name}, ${spell.seconds} s`,
			with: [BOTH],
			rounds: 2,
			parallel: 2,
			waits: true,
			round: (stage: Stage) => endure(stage, spell, spell.seconds * 1_000, {}),
		})),
	],
);

export const settings: readonly ChaosCase[] = family(
	"places in which the host runs: no worker ends by mistake, and SIGKILL leaves nothing",
	[GUARD, BOTH],
	[
		{
			name: "the host is the first process of its pid namespace",
			setting: { before: PID_NAMESPACE },
			unavailable: namespacesUnavailable,
			selected: 1,
		},
		{
			name: "the host is under a subreaper",
			setting: { before: [PYTHON, program("subreaper.py")] },
		},
		{
			name: "the host is behind sh",
			setting: { before: ["sh", "-c", '"$@"; exit $?', "sh"] },
		},
		{
			name: "the host is behind npx",
			setting: { before: ["npx", "--no-install", "--offline"], node: "node" },
		},
		{
			name: "the pool is in a worker thread of the host",
			setting: { program: program("thread-host.ts") },
			selected: 1,
		},
	].map(({ setting, ...entry }) => ({
		...entry,
		rounds: 10,
		parallel: 5,
		round: (stage: Stage) => killInPlace(stage, setting),
	})),
);

/** Any worker that was ended or replaced was ended by mistake: all were healthy. */
async function endure(
	stage: Stage,
	{ cast, setting }: Spell,
	ms: number,
	pool: Readonly<Record<string, unknown>>,
): Promise<RoundOutcome> {
	const host = await stage.ready({ size: SIZE, pool }, setting);
	await stage.sees("worker", SIZE);
	const workers = stage.witness.living("worker").map(({ process }) => process);
	await cast(host, ms, stage);
	// Time for a wrong verdict.
	await sleep(2_500);
	await host.call("pid");
	const ended = workers.filter((each) => each && !lives(each)).length;
	const exits = host.facts("worker.exited");
	const falseKills = Math.max(ended, exits.length);
	const broken = exits.map((exit) => `Ended: ${JSON.stringify(exit)}.`);
	return { falseKills, broken, ...(await stage.killAfterwards(host)) };
}

async function stop(host: HostProcess, ms: number): Promise<void> {
	host.child.kill("SIGSTOP");
	await sleep(ms);
	host.child.kill("SIGCONT");
}

function jumping(ms: number): Partial<HostSetting> {
	return {
		env: { CHAOS_JUMP_MS: String(ms) },
		nodeArguments: ["--import", program("jumping-clock.ts")],
	};
}

async function jump(host: HostProcess, ms: number): Promise<void> {
	host.child.kill("SIGUSR2");
	await host.fact("jumped");
	await sleep(ms);
}

/** The host runs with `--inspect`: the address is in what it printed. */
async function holdAtBreakpoint(host: HostProcess, ms: number): Promise<void> {
	const address = /ws:\/\/\S+/.exec(host.errors)?.[0];
	if (!address) throw new Error(`No debugger listens: ${host.errors}`);
	const socket = new WebSocket(address);
	await once(socket, "open");
	const received = (what: number | string): Promise<void> =>
		new Promise((resolve) => {
			socket.addEventListener("message", ({ data }) => {
				const { id, method } = JSON.parse(String(data));
				if (id === what || method === what) resolve();
			});
		});
	const send = (id: number, method: string): void =>
		socket.send(JSON.stringify({ id, method }));
	try {
		send(1, "Debugger.enable");
		await received(1);
		const paused = received("Debugger.paused");
		send(2, "Debugger.pause");
		await paused;
		await sleep(ms);
		const resumed = received(3);
		send(3, "Debugger.resume");
		await resumed;
	} finally {
		socket.close();
	}
}

async function killInPlace(
	stage: Stage,
	setting: Partial<HostSetting>,
): Promise<RoundOutcome> {
	const outer = await stage.ready({ size: SIZE }, setting);
	await stage.sees("worker", SIZE);
	// A parent that imported the tools is seen as a worker, too, and ends where they cannot be forked.
	const watched = stage.witness.living("worker");
	await sleep(WATCHED_MS);
	const gone = watched.filter(({ goneAtMs }) => goneAtMs !== undefined);
	const falseKills = gone.length + outer.facts("worker.exited").length;
	const host = outer.program();
	const at = performance.now();
	end(host);
	const ending = await stage.untilGone(
		at,
		everyProcess().filter(({ pid }) => pid === outer.pid),
	);
	// The first process of a namespace ends after all others of it.
	while (lives(host) && performance.now() - at < ENDED_MS) await sleep(5);
	return { ...ending, falseKills, broken: unless(!lives(host), "It lives.") };
}
