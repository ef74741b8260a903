import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../../../scripts/ray/cluster.ts";
import type { RoundOutcome } from "../../src/case.ts";
import type { ClusterScene, Party } from "../../src/cluster-scene.ts";
import type { HostProcess } from "../../src/harness/host-process.ts";
import {
	commandLine,
	end,
	lives,
	look,
	type SeenProcess,
	signal,
} from "../../src/harness/process-table.ts";
import type { Stage } from "../../src/harness/stage.ts";
import {
	allOf,
	type Chain,
	chainsOf,
	type HostSide,
	hostSideOf,
} from "./chains.ts";
import { cut, restore } from "./network.ts";

/** One node stays free for workers that must be placed again. */
const SIZE = 2;
/** Keep-alive of the connections to a node. */
const KEEP_ALIVE_MS = 3_000;
/** A process that lives longer after a fault is a leftover. Times are published beside that. */
const ENDED_MS = 20_000;
/** For this long, no process may end without a reason. */
const QUIET_MS = 2_000;
const DESCENDANTS = {
	with_children: ["child", "ignores-sigterm"],
	with_a_daemon: ["daemon"],
	with_a_forgotten_daemon: ["forgotten"],
};

interface Setting {
	readonly stage: Stage;
	readonly cluster: Cluster;
	readonly host: HostProcess;
	readonly side: HostSide;
	/** The node that is hit (not the host's machine), and the others. */
	readonly chain: WholeChain;
	readonly others: readonly WholeChain[];
}

/** With all of its processes, those included that tools have started. */
interface WholeChain extends Chain {
	readonly all: readonly SeenProcess[];
}

/** Whether another round needs another cluster. */
export function damagesTheCluster(scene: ClusterScene): boolean {
	if (scene.fault === "cut off") return true;
	const parties = scene.fault === "killed" ? scene.parties : [scene.party];
	return parties.some((each) => each === "raylet" || each === "control store");
}

/** Runs one round. At its end, no process of the host may be left on any node. */
export async function play(
	scene: ClusterScene,
	stage: Stage,
	cluster: Cluster,
): Promise<RoundOutcome> {
	const host = await stage.ready(
		{
			worker: "ray",
			size: SIZE,
			pool: { start: { timeoutMs: 100_000 } },
		},
		{
			env: {
				RAY_ADDRESS: cluster.address,
				RAY_KEEP_ALIVE_MS: String(KEEP_ALIVE_MS),
			},
		},
	);
	const found = chainsOf(cluster);
	for (const [tool, roles] of Object.entries(DESCENDANTS)) {
		await host.call(tool);
		for (const role of roles) await stage.sees(role, SIZE);
	}
	const chains = found.map((each) => ({ ...each, all: allOf(each) }));
	const [head] = cluster.nodes;
	const chain = chains.find(({ node }) => node !== head);
	if (chains.length !== SIZE || chain === undefined)
		throw new Error(`${chains.length} workers were found, not ${SIZE}.`);
	const others = chains.filter((each) => each !== chain);
	const side = hostSideOf(host.pid);
	const setting = { stage, cluster, host, side, chain, others };
	switch (scene.fault) {
		case "killed":
			return await killed(setting, scene);
		case "stopped":
			return await stopped(setting, scene);
		case "cut off":
			return await cutOff(setting, scene);
	}
}

async function killed(
	setting: Setting,
	{ parties, ends, heals }: ClusterScene & { fault: "killed" },
): Promise<RoundOutcome> {
	const { stage, host, chain, others } = setting;
	const victims = parties.map((party) => find(setting, party));
	const at = performance.now();
	for (const victim of victims) end(victim);
	if (parties.includes("host")) return await stage.untilGone(at, [], ENDED_MS);
	const all = [chain, ...others];
	if (ends === "nothing") {
		await sleep(QUIET_MS);
		return await withTheEnd(setting, { falseKills: ended(all).length });
	}
	// Which of the workers a stand-in stands for is not to be seen.
	const isOneOf = parties.includes("stand-in");
	const due = ends === "all workers" || isOneOf ? all : [chain];
	const count = ends === "all workers" ? all.length : 1;
	const left = await untilEnded(due, count, at);
	const goneMs = performance.now() - at;
	return await withTheEnd(setting, {
		goneMs,
		left,
		falseKills: ended(all).length - count,
		broken: heals ? await serves(host) : [],
	});
}

async function stopped(
	setting: Setting,
	{ party, serves: goesOn }: ClusterScene & { fault: "stopped" },
): Promise<RoundOutcome> {
	const { host, chain, others } = setting;
	signal(find(setting, party).pid, "SIGSTOP");
	const broken = goesOn ? await serves(host) : [];
	await sleep(QUIET_MS);
	return await withTheEnd(setting, {
		falseKills: ended([chain, ...others]).length,
		broken,
	});
}

async function cutOff(
	setting: Setting,
	{ from, heals }: ClusterScene & { fault: "cut off" },
): Promise<RoundOutcome> {
	const { cluster, host, chain, others } = setting;
	const { address } = chain.node;
	const [, port] = cluster.address.split(":");
	const at = performance.now();
	cut([
		`ip daddr ${address}`,
		`ip saddr ${address}`,
		...(from === "the other nodes"
			? []
			: [`tcp dport ${port}`, `tcp sport ${port}`]),
	]);
	try {
		const left = await untilEnded([chain], 1, at);
		const goneMs = performance.now() - at;
		return await withTheEnd(setting, {
			goneMs,
			left,
			falseKills: ended(others).length,
			broken: heals ? await serves(host) : [],
		});
	} finally {
		restore();
	}
}

/** Kills the host, and adds all processes that are left. */
async function withTheEnd(
	{ stage, host }: Setting,
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

function find(
	{ cluster, host, side, chain }: Setting,
	party: Party,
): SeenProcess {
	const [head] = cluster.nodes;
	const pids: Record<Party, number | undefined> = {
		host: host.pid,
		gateway: side.gateway.pid,
		"stand-in": side.standIns[0]?.pid,
		actor: chain.actor.pid,
		keeper: chain.keeper.pid,
		relay: chain.relay.pid,
		worker: chain.worker.pid,
		raylet: chain.node.process("raylet").pid,
		"control store": head?.process("gcs_server").pid,
	};
	const found = look(pids[party] ?? -1);
	if (!found) throw new Error(`There is no ${party}.`);
	return found;
}

/** Waits until all processes of so many of the chains have ended; returns what is left of them, in words. */
async function untilEnded(
	chains: readonly WholeChain[],
	count: number,
	sinceMs: number,
): Promise<readonly string[]> {
	for (;;) {
		const left = chains
			.map(({ all }) => all.filter(lives))
			.filter((each) => each.length > 0);
		const isOver = chains.length - left.length >= count;
		if (isOver) return [];
		if (performance.now() > sinceMs + ENDED_MS) return left.flat().map(inWords);
		await sleep(2);
	}
}

/** Those whose worker is gone. */
function ended(chains: readonly Chain[]): readonly Chain[] {
	return chains.filter(({ worker }) => !lives(worker));
}

function inWords({ pid }: SeenProcess): string {
	return `${pid}: ${commandLine(pid).join(" ").slice(0, 80)}`;
}
