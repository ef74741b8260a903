import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { SeededRandom } from "@snakepit/core/testing";
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
const NOT_INSTALLED = "not installed";
const folder = (name: string): string =>
	fileURLToPath(new URL(`../peers/${name}`, import.meta.url));

/** Something that people run worker processes with. */
interface Peer {
	readonly name: string;
	readonly version: string;
	readonly workers?: number;
	readonly note?: string;
	readonly command: () => readonly string[];
}

const PEERS: readonly Peer[] = [
	node("node:child_process", "child-process.mjs", process.versions.node),
	{
		...node(
			"node:child_process, detached",
			"child-process.mjs",
			process.versions.node,
		),
		command: () => [process.execPath, folder("child-process.mjs"), "detached"],
	},
	node("execa, cleanup", "execa.mjs", installed("execa")),
	node("python-shell", "python-shell.mjs", installed("python-shell")),
	{
		...node("pythonia", "pythonia.mjs", installed("pythonia")),
		workers: 1,
		note: "has one process",
	},
	{
		...node("piscina", "piscina.mjs", installed("piscina")),
		note: "threads of the host, for contrast",
	},
	{
		name: "ProcessPoolExecutor",
		version: "Python's own",
		command: () => [PYTHON, folder("process_pool_executor.py")],
	},
	loky(),
];

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
		peer: Omit<PeerSummary, "rounds" | "survivors" | "p50Ms" | "maxMs">,
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
			outcomes.flatMap(({ survivors, goneMs }) =>
				survivors ? [] : (goneMs ?? []),
			),
		);
		const summary: PeerSummary = {
			...peer,
			rounds,
			workers: peer.workers * rounds,
			survivors: outcomes.reduce((sum, each) => sum + (each.survivors ?? 0), 0),
			p50Ms: times?.p50Ms,
			maxMs: times?.maxMs,
		};
		summaries.push(summary);
		tell(summary);
	};
	for (const peer of PEERS) {
		const { name, version, note = "", workers = WORKERS } = peer;
		if (version === NOT_INSTALLED) {
			console.log(`${name}: not installed, left out`);
			continue;
		}
		const [command = "", ...args] = peer.command();
		await add({ name, version, note, workers }, (stage) =>
			killPeer(stage, workers, command, args),
		);
	}
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
	command: string,
	args: readonly string[],
): Promise<RoundOutcome> {
	const host = spawn(command, args, {
		stdio: ["ignore", "ignore", "inherit"],
		env: { ...process.env, ...stage.env },
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

function node(name: string, program: string, version: string): Peer {
	return { name, version, command: () => [process.execPath, folder(program)] };
}

/** Its environment is made when it is first needed; where that fails it is left out. */
function loky(): Peer {
	const program = `import(${JSON.stringify(ENVIRONMENTS)}).then(({ toolPython }) => console.log(toolPython("loky==${LOKY}")))`;
	const made = spawnSync(process.execPath, ["-e", program], {
		stdio: ["ignore", "pipe", "ignore"],
		encoding: "utf8",
	});
	return {
		name: "loky",
		version: made.status === 0 ? LOKY : NOT_INSTALLED,
		command: () => [made.stdout.trim(), folder("loky_executor.py")],
	};
}

function installed(name: string): string {
	const manifest = folder(`node_modules/${name}/package.json`);
	return existsSync(manifest)
		? JSON.parse(readFileSync(manifest, "utf8")).version
		: NOT_INSTALLED;
}
