import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { installEach } from "../../scripts/packages-on-demand.ts";
import { testPython } from "../../scripts/python-environment.ts";
import { type ProtectionName, PYTHON } from "../programs/worker-adapter.ts";
import type { RoundOutcome } from "./case.ts";
import { Stage } from "./harness/stage.ts";
import type { PeerSummary } from "./report/page.ts";
import { summarizeTimes } from "./report/summary.ts";

const LOKY = "3.5.6";
const WORKERS = 2;
const folder = (name: string): string =>
	fileURLToPath(new URL(`../peers/${name}`, import.meta.url));

/** Something that people run worker processes with. */
interface Peer {
	readonly name: string;
	readonly version: string;
	readonly workers?: number;
	readonly note?: string;
	readonly protections?: readonly ProtectionName[];
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
export async function sideBySide(
	rounds: number,
	seed: number,
	report: (summary: PeerSummary) => void,
): Promise<readonly PeerSummary[]> {
	const summaries: PeerSummary[] = [];
	for (const peer of [...peers(), ...OURS]) {
		const { name, version, note = "", workers = WORKERS } = peer;
		const outcomes: RoundOutcome[] = [];
		for (let at = 0; at < rounds; at++) {
			await using stage = await Stage.open(seed + at, peer.protections ?? []);
			outcomes.push(await peer.round(stage, workers));
		}
		const times = summarizeTimes(
			outcomes.flatMap(({ leftovers, goneMs }) =>
				leftovers ? [] : (goneMs ?? []),
			),
		);
		const summary: PeerSummary = {
			...{ name, version, note, rounds },
			workers: workers * rounds,
			leftovers: outcomes.reduce((sum, each) => sum + (each.leftovers ?? 0), 0),
			p50Ms: times?.p50Ms,
			maxMs: times?.maxMs,
		};
		summaries.push(summary);
		report(summary);
	}
	return summaries;
}

const OURS: readonly Peer[] = [[], ["watchdog", "guard"] as const].map(
	(protections) => ({
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
	}),
);

function peers(): readonly Peer[] {
	const direct = { version: process.versions.node };
	return [
		{
			name: "node:child_process",
			...direct,
			round: killed([process.execPath, folder("host.mjs"), "child-process"]),
		},
		{
			name: "node:child_process, detached",
			...direct,
			round: killed([process.execPath, folder("host.mjs"), "detached"]),
		},
		...installEach(folder("package.json"), "peers").flatMap(
			({ name, version, directory, problem }) => {
				if (problem !== undefined) return leftOut(name, problem);
				const command = [process.execPath, folder("host.mjs"), name];
				const round = killed(command, directory);
				return [{ name, version, round, ...PACKAGES[name] }];
			},
		),
		{
			name: "ProcessPoolExecutor",
			version: "Python's own",
			round: killed([PYTHON, folder("executor.py"), "process_pool"]),
		},
		...loky(),
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

/** Its environment is made when it is first needed. */
function loky(): readonly Peer[] {
	const python = testPython({ name: "loky", requirements: [`loky==${LOKY}`] });
	if (python === undefined) return leftOut("loky", "pip says why, above");
	const command = [python, folder("executor.py"), "loky"];
	const note = "the processes that it keeps beside its workers count too";
	return [{ name: "loky", version: LOKY, note, round: killed(command) }];
}

function leftOut(name: string, problem: string): readonly Peer[] {
	console.log(`${name}: left out, it cannot be installed: ${problem}`);
	return [];
}
