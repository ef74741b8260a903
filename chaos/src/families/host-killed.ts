import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { HostOptions } from "../../programs/host.ts";
import { PYTHON } from "../../programs/worker-adapter.ts";
import {
	ALONE,
	type ChaosCase,
	family,
	GUARD,
	LAYERS,
	type RoundOutcome,
	unless,
	WATCHDOG,
} from "../case.ts";
import type { HostStart } from "../harness/host-process.ts";
import { namespacesUnavailable, PID_NAMESPACE } from "../harness/isolation.ts";
import { end, everyProcess, lives } from "../harness/processes.ts";
import type { Stage } from "../harness/stage.ts";

/** Long enough for every periodic check of a parent. */
const WATCHED_MS = 3_000;
const ENDED_MS = 5_000;
const program = (name: string): string =>
	fileURLToPath(new URL(`../../programs/${name}`, import.meta.url));

/** What the programs leave that are not Python. */
const TREE = ["child", "ignores-sigterm", "daemon", "forgotten"];

export const hostKilled: readonly ChaosCase[] = [
	...family(
		"SIGKILL of the host",
		[GUARD, ALONE],
		[
			{ name: "4 workers idle" },
			{ name: "4 workers busy", tool: "busy_loop" },
			{ name: "4 workers hold Python's lock in C", tool: "hold_the_gil" },
			{ name: "4 workers stopped", tool: "stop_itself" },
			{
				name: "4 workers idle, the host holds 1,000 MB more, which the kernel frees first",
				with: [GUARD],
				ballastMb: 1_000,
			},
		].map(({ tool, ballastMb = 0, ...entry }) => ({
			...entry,
			timed: true,
			round: killHost({ ballastMb }, { tool }),
		})),
	),
	...family("SIGKILL of the host at a random moment of start-up", LAYERS, [
		{
			name: "2 Python workers",
			parallel: 2,
			selected: GUARD,
			round: killStartingHost,
		},
	]),
	...family(
		"SIGKILL of the host of workers with descendants",
		[GUARD, WATCHDOG, ALONE],
		[
			{
				name: "children and a loop that forks, all in the group",
				roles: ["child", "ignores-sigterm", "fork-loop"],
			},
			{
				name: "a daemon and a loop that forks, each in a session of its own",
				roles: ["daemon", "session-fork-loop"],
				keptWith: [GUARD, WATCHDOG],
			},
			{
				name: "a daemon, forked twice, with an empty environment",
				roles: ["forgotten"],
				keptWith: [GUARD],
				selected: GUARD,
			},
		].map(({ roles, ...entry }) => ({
			...entry,
			round: killHost({ size: 2 }, { roles }),
		})),
	),
	...family(
		"SIGKILL of the host of workers that are not Python",
		[GUARD, ALONE],
		// They ignore both SIGTERM and the end of their input.
		(["shell", "node"] as const).flatMap((worker) => [
			{
				name: `4 ${worker} workers`,
				...(worker === "shell" && { selected: ALONE }),
				round: killHost({ worker }),
			},
			{
				name: `4 ${worker} workers, each with every kind of descendant`,
				with: [GUARD],
				round: killHost({ worker }, { roles: TREE }),
			},
		]),
	),
	...family(
		"SIGKILL of a host that runs in another way; before that, no worker ends by mistake",
		[GUARD],
		[
			{
				name: "the host is the first process of its pid namespace",
				start: { before: PID_NAMESPACE },
				unavailable: namespacesUnavailable,
				selected: GUARD,
			},
			{
				name: "the host is under a subreaper",
				start: { before: [PYTHON, program("subreaper.py")] },
			},
			{
				name: "the host is behind sh",
				start: { before: ["sh", "-c", '"$@"; exit $?', "sh"] },
			},
			{
				name: "the pool is in a worker thread of the host",
				start: { program: program("thread-host.ts") },
			},
		].map(({ start, ...entry }) => ({
			...entry,
			...{ parallel: 5, waits: true },
			round: (stage: Stage) => killBehind(stage, start),
		})),
	),
];

/** Kills the host while each worker runs a tool that does not return, or when it has left descendants of these roles. */
function killHost(
	options: Partial<HostOptions>,
	{
		tool,
		roles = [],
	}: { tool?: string | undefined; roles?: readonly string[] } = {},
): (stage: Stage) => Promise<RoundOutcome> {
	return async (stage) => {
		const host = await stage.ready(options);
		const { size = 4 } = options;
		await stage.sees("worker", size);
		if (tool !== undefined) {
			host.call(tool);
			await stage.sees("begun", size);
		}
		if (roles.length > 0) await host.call("leave", { roles });
		for (const role of roles) await stage.sees(role, size);
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

/** Kills the program itself, which another one has started. */
async function killBehind(
	stage: Stage,
	start: Partial<HostStart>,
): Promise<RoundOutcome> {
	const outer = await stage.ready({ size: 2 }, start);
	await stage.sees("worker", 2);
	// A parent that imported the tools is connected as a worker, too, and ends where they cannot be forked.
	const workers = stage.exits.living("worker");
	await sleep(WATCHED_MS);
	const gone = workers.filter(({ goneAtMs }) => goneAtMs !== undefined);
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
