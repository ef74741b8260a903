// What other packages and usual clients leave behind when their host is killed, and what Snakepit does.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { installEach } from "../../scripts/packages-on-demand.ts";
import { testPython } from "../../scripts/python-environment.ts";
import { PROGRAMS } from "../programs/compared/programs.ts";
import { PYTHON } from "../programs/worker-adapter.ts";
import {
	ALONE,
	BOTH,
	GUARD,
	type Protections,
	type RoundOutcome,
} from "./case.ts";
import type { HostProcess } from "./harness/host-process.ts";
import { Stage } from "./harness/stage.ts";
import {
	type KillCount,
	type PeerSummary,
	type ProgramSummary,
	summarizeTimes,
} from "./report.ts";

const LOKY = "3.5.6";
const compared = (name: string): string =>
	fileURLToPath(new URL(`../programs/compared/${name}`, import.meta.url));

/** Something that people run worker processes with. */
interface Peer {
	readonly name: string;
	readonly version: string;
	readonly workers?: number;
	readonly note?: string;
	readonly protections?: Protections;
	readonly round: (stage: Stage, workers: number) => Promise<RoundOutcome>;
}

/** Those that come from the npm registry, by the names of their packages. */
const PACKAGES: Readonly<Record<string, Partial<Peer>>> = {
	execa: { name: "execa, cleanup" },
	"python-shell": {},
	pythonia: { workers: 1, note: "has one process" },
	piscina: { note: "threads of the host, for contrast" },
};

/** Kills hosts of peers and of ours, in turn, and counts. */
export async function besidePeers(
	rounds: number,
	seed: number,
): Promise<readonly PeerSummary[]> {
	console.log("\nside by side: leftovers of a host that is killed");
	const summaries: PeerSummary[] = [];
	for (const peer of [...peers(), ...OURS]) {
		const { name, version, note = "", workers = 2 } = peer;
		const outcomes: RoundOutcome[] = [];
		for (let at = 0; at < rounds; at++) {
			await using stage = await Stage.open(seed + at, peer.protections ?? []);
			outcomes.push(await peer.round(stage, workers));
		}
		const summary: PeerSummary = {
			...{ name, version, note, rounds },
			workers: workers * rounds,
			leftovers: outcomes.reduce((sum, each) => sum + (each.leftovers ?? 0), 0),
			times: summarizeTimes(outcomes),
		};
		summaries.push(summary);
		console.log(
			`${`${name} ${version}`.padEnd(40)} ${summary.leftovers} of ${summary.workers}`,
		);
	}
	return summaries;
}

const OURS: readonly Peer[] = [ALONE, BOTH].map((protections) => ({
	name: ["Snakepit", ...protections].join(" + "),
	version: "this",
	note: "Python over gRPC",
	protections,
	round: async (stage, workers) => {
		const host = await stage.ready({ size: workers });
		host.call("busy_loop");
		await stage.sees("begun", workers);
		return await stage.untilGone(host.kill());
	},
}));

function peers(): readonly Peer[] {
	const node = (name: string) => [
		...[process.execPath, compared("peers.mjs"), name],
	];
	const version = process.versions.node;
	const python = testPython({ name: "loky", requirements: [`loky==${LOKY}`] });
	const executor = (interpreter: string, name: string) => [
		...[interpreter, compared("executor.py"), name],
	];
	return [
		{
			...{ name: "node:child_process", version },
			round: killed(node("child-process")),
		},
		{
			...{ name: "node:child_process, detached", version },
			round: killed(node("detached")),
		},
		...installEach(compared("package.json"), "peers").flatMap(
			({ name, version, directory, problem }) =>
				problem === undefined
					? {
							...{ name, version, ...PACKAGES[name] },
							round: killed(node(name), directory),
						}
					: leftOut(name, problem),
		),
		{
			...{ name: "ProcessPoolExecutor", version: "Python's own" },
			round: killed(executor(PYTHON, "process_pool")),
		},
		...(python === undefined
			? leftOut("loky", "pip says why, above")
			: [
					{
						...{ name: "loky", version: LOKY },
						note: "the processes that it keeps beside its workers count too",
						round: killed(executor(python, "loky")),
					},
				]),
	];
}

/** @param directory where the peer is installed. */
function killed(
	[command = "", ...args]: readonly string[],
	directory?: string,
): Peer["round"] {
	return async (stage, workers) => {
		const host = spawn(command, args, {
			stdio: ["ignore", "ignore", "inherit"],
			env: { ...process.env, ...stage.env, CHAOS_PEER: directory },
		});
		const exited = once(host, "exit");
		try {
			await stage.sees("worker", workers);
			const at = performance.now();
			host.kill("SIGKILL");
			await exited;
			return await stage.untilGone(at);
		} finally {
			host.kill("SIGKILL");
		}
	};
}

function leftOut(name: string, problem: string): readonly Peer[] {
	console.log(`${name}: left out, it cannot be installed: ${problem}`);
	return [];
}

/** Who starts a program. */
const LAUNCHERS = [
	["usual", { isPooled: false, protections: ALONE }],
	["snakepit", { isPooled: true, protections: ALONE }],
	["guarded", { isPooled: true, protections: GUARD }],
] as const;

/** How the host is killed, in the order of the page. It leads a group, in which is what it does not put into another. */
const KILLS: readonly ((host: HostProcess) => void)[] = [
	({ pid }) => process.kill(pid, "SIGKILL"),
	({ pid }) => process.kill(-pid, "SIGKILL"),
	({ pid }) => {
		process.kill(pid, "SIGSTOP");
		process.kill(pid, "SIGKILL");
	},
];
const ENDED_MS = 1_000;

/** Kills hosts of each program in each way, and counts what is left of it after a second. */
export async function besideClients(
	only: readonly string[],
	rounds: number,
	seed: number,
): Promise<readonly ProgramSummary[]> {
	console.log("\nwhat is left of a program a second after the end of its host");
	const summaries: ProgramSummary[] = [];
	for (const { name, usual } of PROGRAMS) {
		if (only.length > 0 && !only.some((text) => name.includes(text))) continue;
		const left = { usual: [], snakepit: [], guarded: [] } as Record<
			"usual" | "snakepit" | "guarded",
			KillCount[]
		>;
		try {
			for (const [launcher, how] of LAUNCHERS)
				for (const kill of KILLS) {
					const count = { started: 0, left: 0 };
					for (let round = 0; round < rounds; round++) {
						const { started, leftovers } = await killOnce(
							...([name, how, kill, seed + round] as const),
						);
						count.started += started;
						count.left += leftovers;
					}
					left[launcher].push(count);
				}
		} catch (error) {
			console.log(`${name}: left out: ${(error as Error).message}`);
			continue;
		}
		summaries.push({ name, usual, left });
		console.log(name.padEnd(60), JSON.stringify(left));
	}
	return summaries;
}

async function killOnce(
	name: string,
	{ isPooled, protections }: (typeof LAUNCHERS)[number][1],
	kill: (host: HostProcess) => void,
	seed: number,
): Promise<{ readonly started: number; readonly leftovers: number }> {
	await using stage = await Stage.open(seed, protections);
	const host = stage.start(
		{},
		{
			before: ["setsid"],
			program: compared("programs.ts"),
			env: { CHAOS_PROGRAM: JSON.stringify({ name, isPooled }) },
		},
	);
	await host.fact("up");
	const started = stage.started();
	const at = performance.now();
	kill(host);
	const { leftovers } = await stage.untilGone(at, [], ENDED_MS);
	return { started, leftovers };
}
