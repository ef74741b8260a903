import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { HostOptions } from "../../programs/host.ts";
import { PYTHON } from "../../programs/worker-adapter.ts";
import {
	ALONE,
	BOTH,
	type ChaosCase,
	family,
	GUARD,
	LAYERS,
	type RoundOutcome,
	WATCHDOG,
} from "../case.ts";
import type { Stage } from "../harness/stage.ts";

const KERNEL =
	"the kernel frees the memory of the host, then that of the workers, before anything of them is closed: see the limit";
const QUICK = { p50Ms: 10, p99Ms: 100 };
const BELOW_GUARD = [GUARD, BOTH];
const BELOW_ANY = [WATCHDOG, GUARD, BOTH];

/** What the workers do when their host is killed: a tool that is called on each and does not return. */
const OCCUPATIONS = [
	{ name: "4 workers idle" },
	{ name: "4 workers busy", tool: "busy_loop" },
	{ name: "4 workers hold Python's lock in C", tool: "hold_the_gil" },
	{ name: "4 workers stopped", tool: "stop_itself" },
];

export const hostKilled: readonly ChaosCase[] = [
	...family("SIGKILL of the host", LAYERS, [
		...OCCUPATIONS.flatMap(({ name, tool }) =>
			[
				{ with: [GUARD, ALONE], rounds: 40 },
				{ with: [WATCHDOG, BOTH], rounds: 10 },
			].map((rounds) => ({
				...rounds,
				name,
				...(tool === "hold_the_gil" && { selected: 1 }),
				target: { ...QUICK, reason: KERNEL },
				round: killHost({}, tool),
			})),
		),
		...[50, 100].map((size) => ({
			name: `${size} workers idle`,
			with: [ALONE, GUARD],
			rounds: 3,
			timed: true,
			round: killHost({ size }),
		})),
	]),
	...family(
		"SIGKILL of the host at a random moment of start-up",
		LAYERS,
		[
			{ with: [GUARD], rounds: 1_000, selected: 2 },
			{ with: [ALONE, WATCHDOG, BOTH], rounds: 50, selected: 1 },
		].map((rounds) => ({
			...rounds,
			name: "2 Python workers",
			parallel: 4,
			round: killStartingHost,
		})),
	),
	...family(
		"SIGKILL of the host of workers with descendants",
		LAYERS,
		[
			{
				name: "a child, and one that ignores SIGTERM",
				tool: "with_children",
				roles: ["child", "ignores-sigterm"],
			},
			{
				name: "a loop that forks",
				tool: "with_a_fork_loop",
				roles: ["fork-loop"],
			},
			{
				name: "a daemon in a session of its own",
				tool: "with_a_daemon",
				roles: ["daemon"],
				keptWith: BELOW_ANY,
				selectedWith: WATCHDOG,
			},
			{
				name: "a loop that forks, each child in a session of its own",
				tool: "with_a_fork_loop_in_sessions",
				roles: ["session-fork-loop"],
				keptWith: BELOW_ANY,
			},
			{
				name: "a daemon, forked twice, with an empty environment",
				tool: "with_a_forgotten_daemon",
				roles: ["forgotten"],
				keptWith: BELOW_GUARD,
				selectedWith: GUARD,
			},
		].map(({ tool, roles, ...entry }) => ({
			...entry,
			...(entry.selectedWith && { selected: 1 }),
			rounds: 10,
			target: { p99Ms: 250 },
			round: killHost({ size: 2 }, tool, roles),
		})),
	),
	...family(
		"SIGKILL of the host of workers that are not Python",
		LAYERS,
		// They ignore both SIGTERM and the end of their input.
		(["shell", "node"] as const).flatMap((worker) => [
			{
				name: `4 ${worker} workers`,
				rounds: 10,
				...(worker === "shell" && { selected: 1 }),
				target: { p99Ms: 250 },
				round: killHost({ worker }),
			},
			{
				name: `4 ${worker} workers, each with every kind of descendant`,
				rounds: 10,
				keptWith: BELOW_GUARD,
				target: { p99Ms: 250 },
				round: killHost({ worker }, "with_children", [
					...["child", "ignores-sigterm", "daemon", "forgotten"],
				]),
			},
		]),
	),
];

export const preloadedHostKilled: readonly ChaosCase[] = family(
	"SIGKILL of the host, workers forked from a preloaded parent",
	[ALONE, GUARD],
	OCCUPATIONS.map(({ name, tool }) => ({
		name,
		rounds: 10,
		target: QUICK,
		round: killHost({ preload: { modules: ["numpy"] } }, tool),
	})),
);

/** The time of the kill against the memory of the host, which the kernel frees first. */
export const hostMemory: readonly ChaosCase[] = family(
	"SIGKILL of a host with much memory",
	[GUARD],
	[100, 500, 1_000, 2_000].map((ballastMb) => ({
		name: `4 workers idle, the host holds ${ballastMb} MB more`,
		rounds: 5,
		timed: true,
		round: killHost({ ballastMb }),
	})),
);

/**
 * Kills the host while each worker runs a tool that does not return, or when a tool has left
 * descendants of these roles.
 */
function killHost(
	options: Partial<HostOptions>,
	tool?: string,
	roles?: readonly string[],
): (stage: Stage) => Promise<RoundOutcome> {
	return async (stage) => {
		const host = await stage.ready(options);
		const { size = 4 } = options;
		await stage.sees("worker", size);
		if (tool !== undefined) {
			const called = host.call(tool);
			if (roles !== undefined) await called;
			for (const role of roles ?? ["begun"]) await stage.sees(role, size);
		}
		return await stage.untilGone(host.kill());
	};
}

/** From which fact on the moment is drawn, and how far it may be: every part of the start has its share. */
const WINDOWS = [
	{ after: undefined, withinMs: 800 },
	{ after: "run.started", withinMs: 150 },
	{ after: "worker.spawned", withinMs: 40 },
	{ after: "worker.spawned", withinMs: 800 },
];

async function killStartingHost(stage: Stage): Promise<RoundOutcome> {
	const { after, withinMs } = stage.chance.pick(WINDOWS);
	const delayMs = stage.chance.fraction() * withinMs;
	const host = stage.start({ size: 2 });
	if (after !== undefined) await host.fact(after);
	await sleep(delayMs);
	return await stage.untilGone(host.kill());
}

const NODE = `
const held = Buffer.alloc(Number(process.argv[1]) * 2 ** 20, 1);
console.log("up");
setInterval(() => held, 2 ** 30);
`;
const WORKER = "snakepit_bridge.bridge.worker";
const PYTHONS = [
	{ name: "a Python that has not imported anything", modules: [] },
	{
		name: "a Python with what a worker imports for the framed transport",
		modules: [WORKER, "snakepit_bridge.bridge.framed_transport.server"],
	},
	{
		name: "a Python with what a worker imports for gRPC",
		modules: [WORKER, "snakepit_bridge.bridge.grpc_transport.server"],
	},
].map(({ name, modules }) => {
	const imports = ["time", ...modules].map((each) => `import ${each}`);
	const lines = [...imports, "print('up', flush=True)", "time.sleep(1e6)"];
	return { name, count: 1, command: [PYTHON, "-c", lines.join("\n")] };
});

/**
 * What no layer can undercut: the kernel frees the memory of a killed process before it closes what
 * it had open, and only then can anything notice. For a host that is the time until its workers can
 * be notified; for workers the time from the signal to their end.
 */
export const kernelLimit: readonly ChaosCase[] = family(
	"the limit: SIGKILL of an idle program, until its pipe is closed",
	[ALONE],
	[
		...[0, 100, 500, 1_000, 2_000].map((ballastMb) => ({
			name: `a Node that holds ${ballastMb} MB`,
			count: 1,
			command: [process.execPath, "-e", NODE, String(ballastMb)],
		})),
		...PYTHONS,
		...PYTHONS.map((one) => ({
			...one,
			name: `4 times ${one.name}`,
			count: 4,
		})),
	].map(({ name, count, command }) => ({
		name,
		rounds: 20,
		timed: true,
		round: () => killIdle(command, count),
	})),
);

/** The time is until the last of them is gone. */
async function killIdle(
	[executable = "", ...args]: readonly string[],
	count: number,
): Promise<RoundOutcome> {
	const children = Array.from({ length: count }, () =>
		spawn(executable, args, { stdio: ["ignore", "pipe", "inherit"] }),
	);
	const closed = children.map(({ stdout }) => once(stdout, "close"));
	await Promise.all(children.map(({ stdout }) => once(stdout, "data")));
	const at = performance.now();
	for (const child of children) child.kill("SIGKILL");
	await Promise.all(closed);
	return { goneMs: performance.now() - at, leftovers: 0 };
}
