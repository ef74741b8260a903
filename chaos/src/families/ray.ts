import { execFileSync, spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { Cluster } from "../../../scripts/ray/cluster.ts";
import type { ClusterNode } from "../../../scripts/ray/cluster-node.ts";
import { assertInside } from "../../../scripts/ray/namespace.ts";
import { clusterPython } from "../../../scripts/ray/python.ts";
import {
	type ChaosCase,
	type Entry,
	family,
	GUARD,
	type RoundOutcome,
} from "../case.ts";
import type { HostProcess } from "../harness/host-process.ts";
import {
	commandLine,
	descendantsOf,
	end,
	everyProcess,
	inWords,
	lives,
	look,
	type SeenProcess,
	signal,
} from "../harness/processes.ts";
import type { Stage } from "../harness/stage.ts";

/** One node stays free for workers that must be placed again. */
const SIZE = 2;
/** Keep-alive of the connections to a node. */
const KEEP_ALIVE_MS = 3_000;
/** A process that lives longer after a fault is a leftover. Times are published beside that. */
const ENDED_MS = 20_000;
/** For this long, no process may end without a reason. */
const QUIET_MS = 2_000;
const DESCENDANTS = ["child", "ignores-sigterm", "daemon", "forgotten"];

/** What is hit: on the machine of the host, and on another node. */
type Party =
	| "host"
	| "gateway"
	| "stand-in"
	| "actor"
	| "keeper"
	| "relay"
	| "worker"
	| "raylet"
	| "control store";

/** The processes of one worker on its node. */
interface Chain {
	readonly node: ClusterNode;
	readonly actor: SeenProcess;
	readonly keeper: SeenProcess;
	readonly relay: SeenProcess;
	readonly worker: SeenProcess;
	/** With those that tools have started. */
	readonly all: readonly SeenProcess[];
}

/** A host with a worker on each of two nodes, each with every kind of descendant. */
interface Scene {
	readonly stage: Stage;
	readonly cluster: Cluster;
	readonly host: HostProcess;
	/** The node that is hit (not the host's machine), and the other. */
	readonly chain: Chain;
	readonly chains: readonly Chain[];
}

type Fault = (scene: Scene) => Promise<RoundOutcome>;

export const rayCluster: readonly ChaosCase[] = [
	...family(
		"workers on a Ray cluster: SIGKILL",
		[GUARD],
		[
			killed(["host"], "all workers", false),
			killed(["gateway"], "all workers"),
			killed(["stand-in"], "one worker"),
			killed(["actor"], "one worker"),
			killed(["keeper"], "one worker"),
			killed(["relay"], "one worker"),
			killed(["worker"], "one worker"),
			killed(["raylet"], "one worker"),
			killed(["control store"], "nothing", false),
			killed(["control store", "host"], "all workers", false),
			killed(["control store", "gateway"], "all workers", false),
			killed(["gateway", "actor", "keeper"], "all workers"),
		],
	),
	...family(
		"workers on a Ray cluster: SIGSTOP, then SIGKILL of the host",
		[GUARD],
		[
			stopped("host", false),
			stopped("gateway"),
			stopped("stand-in"),
			stopped("actor"),
			stopped("keeper"),
			stopped("relay", false),
			stopped("worker", false),
			stopped("raylet"),
			stopped("control store"),
		],
	),
	...family(
		"workers on a Ray cluster: a node is cut off, then SIGKILL of the host",
		[GUARD],
		[
			cutOff("from the other nodes", true),
			cutOff("from the other nodes and the control store", false),
		],
	),
];

/**
 * SIGKILL to the parties, one after the other, in one go.
 *
 * @param ends what ends before the host is killed: all workers, that of the party, or none.
 * @param heals whether the pool has all of its workers again afterwards.
 */
function killed(
	parties: readonly Party[],
	ends: "all workers" | "one worker" | "nothing",
	heals = true,
): Entry {
	return entry(`${parties.join(", then ")} killed`, parties, async (scene) => {
		const { stage, host, chain, chains } = scene;
		const victims = parties.map((party) => processOf(scene, party));
		const at = performance.now();
		victims.forEach(end);
		if (parties.includes("host"))
			return await stage.untilGone(at, [], ENDED_MS);
		if (ends === "nothing") {
			await sleep(QUIET_MS);
			return await thenHost(scene, { falseKills: ended(chains) });
		}
		// Which of the workers a stand-in stands for is not to be seen.
		const isAny = ends === "all workers" || parties.includes("stand-in");
		const count = ends === "all workers" ? chains.length : 1;
		const left = await untilEnded(isAny ? chains : [chain], count, at);
		return await thenHost(scene, {
			goneMs: performance.now() - at,
			left,
			falseKills: ended(chains) - count,
			broken: heals ? await serves(host) : [],
		});
	});
}

/** SIGSTOP to the party. @param goesOn whether calls continue meanwhile. */
function stopped(party: Party, goesOn = true): Entry {
	return entry(`${party} stopped`, [party], async (scene) => {
		signal(processOf(scene, party).pid, "SIGSTOP");
		const broken = goesOn ? await serves(scene.host) : [];
		await sleep(QUIET_MS);
		const falseKills = ended(scene.chains);
		return await thenHost(scene, { falseKills, broken });
	});
}

/** No packet passes to or from the node of a worker; or also none to or from the control store, from anywhere. */
function cutOff(
	from: "from the other nodes" | "from the other nodes and the control store",
	heals: boolean,
): Entry {
	const cutsNode: Fault = async (scene) => {
		const { cluster, host, chain, chains } = scene;
		const { address } = chain.node;
		const [, port] = cluster.address.split(":");
		const rules = [`ip daddr ${address}`, `ip saddr ${address}`];
		if (from !== "from the other nodes")
			rules.push(`tcp dport ${port}`, `tcp sport ${port}`);
		const at = performance.now();
		assertInside();
		const lines = rules.map((rule) => `add rule inet chaos cut ${rule} drop`);
		execFileSync("nft", ["-f", "-"], {
			input: [
				"add table inet chaos",
				"add chain inet chaos cut { type filter hook output priority 0; }",
				...lines,
			].join("\n"),
		});
		try {
			const left = await untilEnded([chain], 1, at);
			return await thenHost(scene, {
				goneMs: performance.now() - at,
				left,
				falseKills: ended(chains.filter((each) => each !== chain)),
				broken: heals ? await serves(host) : [],
			});
		} finally {
			execFileSync("nft", ["delete", "table", "inet", "chaos"]);
		}
	};
	return {
		...entry(from, ["raylet"], cutsNode),
		unavailable: () => {
			const { error } = spawnSync("nft", ["--version"]);
			return error && `no packet filter here: ${error.message}`;
		},
	};
}

/** Of three nodes, for all rounds until one damages it. */
let shared: Cluster | undefined;

/** Ends the cluster that rounds have shared. */
export async function endCluster(): Promise<void> {
	const cluster = shared;
	shared = undefined;
	await cluster?.[Symbol.asyncDispose]();
}

/** One round beside a cluster. */
function entry(name: string, parties: readonly Party[], fault: Fault): Entry {
	const isDamaged = parties.some((party) =>
		["raylet", "control store"].includes(party),
	);
	return {
		name,
		timed: true,
		round: async (stage) => {
			const python = clusterPython();
			if (python === undefined) throw new Error("Ray could not be installed.");
			shared ??= await Cluster.start({ python });
			try {
				return await fault(await sceneOn(stage, shared));
			} finally {
				if (isDamaged) await endCluster();
			}
		},
	};
}

async function sceneOn(stage: Stage, cluster: Cluster): Promise<Scene> {
	const host = await stage.ready(
		{
			...{ worker: "ray", size: SIZE },
			pool: { start: { timeoutMs: 100_000 } },
		},
		{
			env: {
				RAY_ADDRESS: cluster.address,
				RAY_KEEP_ALIVE_MS: String(KEEP_ALIVE_MS),
			},
		},
	);
	// Found before tools have forked.
	const workers = everyProcess().filter(isBridge("worker"));
	await host.call("leave", { roles: DESCENDANTS });
	for (const role of DESCENDANTS) await stage.sees(role, SIZE);
	const chains = workers.map((worker) => chainOf(cluster, worker));
	const [head] = cluster.nodes;
	const chain = chains.find(({ node }) => node !== head);
	if (chains.length !== SIZE || chain === undefined)
		throw new Error(`${chains.length} workers were found, not ${SIZE}.`);
	return { stage, cluster, host, chain, chains };
}

function chainOf(cluster: Cluster, worker: SeenProcess): Chain {
	const parentOf = ({ parent }: SeenProcess): SeenProcess => {
		const above = look(parent);
		if (!above) throw new Error(`There is no process ${parent}.`);
		return above;
	};
	const relay = parentOf(worker);
	const keeper = parentOf(relay);
	const actor = parentOf(keeper);
	const node = cluster.nodes.find((each) =>
		each.processes().some(({ pid }) => pid === actor.pid),
	);
	if (!node) throw new Error(`No node has the actor ${actor.pid}.`);
	const all = [actor, ...descendantsOf(actor.pid)];
	return { node, actor, keeper, relay, worker, all };
}

function isBridge(command: string): (process: SeenProcess) => boolean {
	return ({ pid }) => {
		const words = commandLine(pid);
		return words[words.indexOf("snakepit_bridge") + 1] === command;
	};
}

function processOf({ cluster, host, chain }: Scene, party: Party): SeenProcess {
	const own = (command: string) =>
		descendantsOf(host.pid).find(isBridge(command))?.pid;
	const pids: Record<Party, () => number | undefined> = {
		host: () => host.pid,
		gateway: () => own("gateway"),
		"stand-in": () => own("stand-in"),
		actor: () => chain.actor.pid,
		keeper: () => chain.keeper.pid,
		relay: () => chain.relay.pid,
		worker: () => chain.worker.pid,
		raylet: () => chain.node.process("raylet").pid,
		"control store": () => cluster.nodes[0]?.process("gcs_server").pid,
	};
	const process = look(pids[party]() ?? -1);
	if (!process) throw new Error(`There is no ${party}.`);
	return process;
}

/** Kills the host, and adds all processes that are left. */
async function thenHost(
	{ stage, host }: Scene,
	outcome: RoundOutcome,
): Promise<RoundOutcome> {
	const { goneMs, left } = await stage.untilGone(host.kill(), [], ENDED_MS);
	const all = [...(outcome.left ?? []), ...left];
	return { goneMs, ...outcome, left: all, leftovers: all.length };
}

/** Sentences when not every worker answers. */
async function serves(host: HostProcess): Promise<readonly string[]> {
	try {
		await host.call("sleep", { seconds: 1 }, 20);
		return [];
	} catch (error) {
		return [`A call failed: ${(error as Error).message}`];
	}
}

/** Waits until all processes of so many of the chains have ended; returns what is left of them, in words. */
async function untilEnded(
	chains: readonly Chain[],
	count: number,
	sinceMs: number,
): Promise<readonly string[]> {
	for (;;) {
		const left = chains
			.map(({ all }) => all.filter(lives))
			.filter((each) => each.length > 0);
		if (chains.length - left.length >= count) return [];
		if (performance.now() > sinceMs + ENDED_MS) return left.flat().map(inWords);
		await sleep(2);
	}
}

/** How many have lost their worker. */
function ended(chains: readonly Chain[]): number {
	return chains.filter(({ worker }) => !lives(worker)).length;
}
