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
	inLanes,
	type Protections,
	type RoundOutcome,
} from "./case.ts";
import { Stage } from "./harness/stage.ts";
import { type PeerSummary, summarizeTimes } from "./report.ts";

const LOKY = "3.5.6";
/** Of what leaves processes behind. */
const PARALLEL = 4;
const compared = (name: string): string =>
	fileURLToPath(new URL(`../programs/compared/${name}`, import.meta.url));

/** Something that people run worker processes with. */
interface Peer {
	readonly name: string;
	readonly version: string;
	readonly workers?: number;
	readonly note?: string;
	readonly protections?: Protections;
	/** Rounds that run at the same time: where processes stay, most of a round is waiting for them. Default: 1. */
	readonly parallel?: number;
	readonly round: (
		stage: Stage,
		workers: number,
	) => Promise<RoundOutcome & { readonly started?: number }>;
}

/** Those that come from the npm registry, by the names of their packages. */
const PACKAGES: Readonly<Record<string, Partial<Peer>>> = {
	execa: { name: "execa, cleanup" },
	"python-shell": {},
	pythonia: { workers: 1, note: "has one process" },
	piscina: { note: "threads of the host, for contrast" },
};

/** Kills hosts of peers and of ours, in turn, and counts. @param only parts of the names; all when empty. */
export async function besidePeers(
	only: readonly string[],
	rounds: number,
	seed: number,
): Promise<readonly PeerSummary[]> {
	console.log("\nside by side: leftovers of a host that is killed");
	const summaries: PeerSummary[] = [];
	const all = [...peers(), ...OURS, ...programs()].filter(
		({ name }) => only.length === 0 || only.some((text) => name.includes(text)),
	);
	for (const peer of all) {
		const { name, version, note = "", workers = 2, parallel = 1 } = peer;
		const outcomes: RoundOutcome[] = [];
		let processes = 0;
		await inLanes(parallel, rounds, async (round) => {
			await using stage = await Stage.open(
				seed + round,
				peer.protections ?? [],
			);
			const { started, ...outcome } = await peer.round(stage, workers);
			processes += started ?? workers;
			outcomes.push(outcome);
		});
		const summary: PeerSummary = {
			...{ name, version, note, rounds, workers: processes },
			leftovers: outcomes.reduce((sum, each) => sum + (each.leftovers ?? 0), 0),
			times: summarizeTimes(outcomes),
		};
		summaries.push(summary);
		console.log(
			`${`${name} ${version}`.padEnd(90)} ${summary.leftovers} of ${processes}`,
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
	const all: readonly Omit<Peer, "parallel">[] = [
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
	return all.map((peer) => ({ ...peer, parallel: PARALLEL }));
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

/** With what people usually start a program, and as the worker of a pool. */
function programs(): readonly Peer[] {
	const launchers = [
		{ isPooled: false, protections: ALONE },
		{ isPooled: true, protections: GUARD },
	];
	return PROGRAMS.flatMap(({ name, usual }) =>
		launchers.map(({ isPooled, protections }) => ({
			name: `${name}: ${isPooled ? "Snakepit" : usual}`,
			version: "",
			protections,
			parallel: isPooled ? 1 : PARALLEL,
			round: async (stage) => {
				const env = { CHAOS_PROGRAM: JSON.stringify({ name, isPooled }) };
				const program = compared("programs.ts");
				const host = stage.start({}, { program, env });
				await host.fact("up");
				const started = stage.started();
				return { started, ...(await stage.untilGone(host.kill())) };
			},
		})),
	);
}
