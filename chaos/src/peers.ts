import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { SeededRandom } from "@snakepit/core/testing";
import { installEach } from "../../scripts/packages-on-demand.ts";
import type { ProtectionName } from "../programs/orders.ts";
import { PYTHON } from "../programs/worker-adapter.ts";
import { summarizeTimes } from "./figures/summary.ts";
import type { RoundOutcome } from "./harness/chaos-case.ts";
import { Stage } from "./harness/stage.ts";
import type { PeerSummary } from "./report/markdown.ts";

const LOKY = "3.5.6";
const ENVIRONMENTS = new URL(
	"../../scripts/python-environment.ts",
	import.meta.url,
).href;
const WORKERS = 2;
const folder = (name: string): string =>
	fileURLToPath(new URL(`../peers/${name}`, import.meta.url));

/** Something that people run worker processes with. */
interface Peer {
	readonly name: string;
	readonly version: string;
	readonly workers?: number;
	readonly note?: string;
	readonly command: readonly [file: string, ...args: string[]];
	/** Where it is installed. */
	readonly directory?: string;
}

const DIRECT: readonly Peer[] = [
	program("node:child_process", process.versions.node, "child-process.mjs"),
	program("node:child_process, detached", process.versions.node, [
		"child-process.mjs",
		"detached",
	]),
];

/** Those that come from the npm registry, by the names of their packages. */
const PACKAGES: Readonly<Record<string, Partial<Peer>>> = {
	execa: { name: "execa, cleanup" },
	"python-shell": {},
	pythonia: { workers: 1, note: "has one process" },
	piscina: { note: "threads of the host, for contrast" },
};

const OURS: readonly (readonly ProtectionName[])[] = [
	[],
	["watchdog", "guard"],
];

/** Kills hosts of peers and of ours, in turn, and counts. */
export async function sideBySide(
	rounds: number,
	seed: number,
	tell: (summary: PeerSummary) => void,
): Promise<readonly PeerSummary[]> {
	const summaries: PeerSummary[] = [];
	const add = async (
		peer: Omit<PeerSummary, "rounds" | "leftovers" | "p50Ms" | "maxMs">,
		round: (stage: Stage) => Promise<RoundOutcome>,
		protections: readonly ProtectionName[] = [],
	): Promise<void> => {
		const outcomes: RoundOutcome[] = [];
		for (let at = 0; at < rounds; at++) {
			await using stage = await Stage.open(
				new SeededRandom(seed + at),
				protections,
			);
			outcomes.push(await round(stage));
		}
		const times = summarizeTimes(
			outcomes.flatMap(({ leftovers, goneMs }) =>
				leftovers ? [] : (goneMs ?? []),
			),
		);
		const summary: PeerSummary = {
			...peer,
			rounds,
			workers: peer.workers * rounds,
			leftovers: outcomes.reduce((sum, each) => sum + (each.leftovers ?? 0), 0),
			p50Ms: times?.p50Ms,
			maxMs: times?.maxMs,
		};
		summaries.push(summary);
		tell(summary);
	};
	const peers = [...DIRECT, ...packages(), processPoolExecutor, ...loky()];
	for (const { name, version, note = "", workers = WORKERS, ...peer } of peers)
		await add({ name, version, note, workers }, (stage) =>
			killPeer(stage, workers, peer),
		);
	for (const protections of OURS)
		await add(
			{
				name: `Snakepit${protections.map((each) => ` + ${each}`).join("")}`,
				version: "this",
				note: "Python over gRPC",
				workers: WORKERS,
			},
			killOurs,
			protections,
		);
	return summaries;
}

async function killPeer(
	stage: Stage,
	workers: number,
	{
		command: [command, ...args],
		directory,
	}: Pick<Peer, "command" | "directory">,
): Promise<RoundOutcome> {
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
}

async function killOurs(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready({ size: WORKERS });
	host.begin("busy_loop");
	await stage.sees("begun", WORKERS);
	return await stage.untilGone(host.kill());
}

function program(
	name: string,
	version: string,
	command: string | readonly string[],
): Peer {
	const [file = "", ...args] = [command].flat();
	return { name, version, command: [process.execPath, folder(file), ...args] };
}

/** Installs them; one that cannot be had is told of and left out. */
function packages(): readonly Peer[] {
	return installEach(folder("package.json"), "peers").flatMap(
		({ name, version, directory, problem }) => {
			if (problem !== undefined) return leftOut(name, problem);
			const peer = program(name, version, `${name}.mjs`);
			return { ...peer, directory, ...PACKAGES[name] };
		},
	);
}

const processPoolExecutor: Peer = {
	name: "ProcessPoolExecutor",
	version: "Python's own",
	command: [PYTHON, folder("process_pool_executor.py")],
};

/** Its environment is made when it is first needed. */
function loky(): readonly Peer[] {
	const make = `import(${JSON.stringify(ENVIRONMENTS)}).then(({ toolPython }) => console.log(toolPython("loky==${LOKY}")))`;
	const made = spawnSync(process.execPath, ["-e", make], {
		stdio: ["ignore", "pipe", "pipe"],
		encoding: "utf8",
	});
	if (made.status !== 0) return leftOut("loky", made.stderr.trim());
	const command = [made.stdout.trim(), folder("loky_executor.py")] as const;
	const note = "the processes that it keeps beside its workers count too";
	return [{ name: "loky", version: LOKY, note, command }];
}

function leftOut(name: string, problem: string): readonly Peer[] {
	console.log(`${name}: left out, it cannot be installed: ${problem}`);
	return [];
}
