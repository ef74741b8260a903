// Scenes in which the processes above the workers are killed with them.
import { join } from "node:path";
import {
	setImmediate as nextTurn,
	setTimeout as pause,
} from "node:timers/promises";
import { createPool, type SnakepitEvent } from "@snakepit/core";
import type { Adapter } from "@snakepit/core/adapter";
import { compileNativeTest } from "../../../scripts/native-test-program.ts";
import {
	descendantsOf,
	end,
	lives,
	look,
	type SeenProcess,
} from "../../src/harness/processes.ts";
import { Stage } from "../../src/harness/stage.ts";
import {
	type ProtectionName,
	protectionsOf,
	workerAdapter,
} from "../worker-adapter.ts";
import {
	Conversation,
	type Scene,
	type Strangers,
	untilDead,
} from "./strangers.ts";

const AT_ONCE = 16;
/** For what a guard writes to its host when its workers have ended. */
const REPORTED_MS = 100;
const program = (name: string): string => join(import.meta.dirname, "..", name);
const SLEEPERS = { worker: "shell", program: program("sleeps.sh") } as const;

/** The watchdog of a dead host searches for workers whose pids now belong to other processes. */
export const watchdogAwakens: Scene = async (strangers) => {
	await using stage = await Stage.open(1, ["watchdog"]);
	const layers = await killWithoutLayers(stage, strangers);
	for (const { pid } of layers) process.kill(pid, "SIGCONT");
	while (layers.some(lives)) await pause(5);
};

/** The next start reads about workers whose pids now belong to other processes. */
export const nextStart: Scene = async (strangers) => {
	await using stage = await Stage.open(1, []);
	await killWithoutLayers(stage, strangers);
	const next = await stage.ready({ ...SLEEPERS, size: 1 });
	const { deadRuns } = await next.fact<{ deadRuns: number }>(
		"cleanup.finished",
	);
	if (deadRuns !== 1) throw new Error(`It found ${deadRuns} dead runs.`);
};

/** Ends a host and its workers while their protections are stopped. Returns the stopped processes. */
async function killWithoutLayers(
	stage: Stage,
	strangers: Strangers,
): Promise<readonly SeenProcess[]> {
	const host = await stage.ready({ ...SLEEPERS, size: AT_ONCE });
	const workers = await host.workers();
	const layers = host.layers.flatMap(({ processes }) => processes);
	for (const { pid } of layers) process.kill(pid, "SIGSTOP");
	const seen = workers.flatMap((pid) => look(pid) ?? []);
	if (seen.length < AT_ONCE) throw new Error("Not all workers are there.");
	host.kill();
	seen.forEach(end);
	await host.exited;
	strangers.take(workers);
	return layers;
}

/** A guard sends its signals when the pids it saw belong to others; no process that it forked itself can be among them. */
export const guardSends: Scene = async (strangers) => {
	// One for all rounds: compiling it is most of a round. It ends with the namespace.
	guard ??= new Conversation(strangers.directory, "guard-kills", [
		compileNativeTest("guard/guard-kills", strangers.directory),
	]);
	const pids = strangers.spawn(AT_ONCE, {});
	const { seen } = guard.ask<{ seen: number }>({ see: pids });
	strangers.replace(pids);
	const { gone } = guard.ask<{ gone: number }>({ send: true });
	if (seen !== 2 * AT_ONCE || gone !== seen)
		throw new Error(`${gone} of ${seen} signals found no process.`);
};

let guard: Conversation | undefined;

const sleepers = (): Adapter => workerAdapter(SLEEPERS);
const forked = (): Adapter =>
	workerAdapter({
		worker: "python",
		program: program("sleeps.py"),
		preload: { modules: ["numpy"] },
	});

/** The workers of a guard. */
export const guardLost: Scene = (strangers) =>
	lose(strangers, ["guard"], sleepers());

/** The workers of a guard that has reported their ends before it is lost, while the host stands still. */
export const guardLostAfterItsReport: Scene = (strangers) =>
	lose(strangers, ["guard"], sleepers(), "workers_first");

/** The workers of a preloaded parent. */
export const parentLost: Scene = (strangers) => lose(strangers, [], forked());

/** The workers of a preloaded parent below a guard. */
export const parentAndGuardLost: Scene = (strangers) =>
	lose(strangers, ["guard"], forked());

/** Kills the workers of a pool and everything above them, up to this program. */
async function lose(
	strangers: Strangers,
	protections: readonly ProtectionName[],
	adapter: Adapter,
	order: "all_at_once" | "workers_first" = "all_at_once",
): Promise<void> {
	const events: SnakepitEvent[] = [];
	const pool = await createPool({
		adapter,
		size: AT_ONCE,
		...protectionsOf(protections),
		onEvent: (event) => events.push(event),
		output: { echo: "none" },
		dataDir: strangers.directory,
	});
	const pidsOf = (type: SnakepitEvent["type"]): readonly number[] =>
		events.flatMap((event) =>
			event.type === type && "pid" in event ? (event.pid ?? []) : [],
		);
	const workers = pidsOf("worker.spawned").slice(0, AT_ONCE);
	const parents = [
		...pidsOf("protection.started"),
		...pidsOf("preload.started"),
	].flatMap((pid) => [pid, ...descendantsOf(pid).map((each) => each.pid)]);
	const others = new Set(parents.filter((pid) => !workers.includes(pid)));
	const kill = (pids: Iterable<number>): void => {
		for (const pid of pids) {
			const seen = look(pid);
			if (seen !== undefined) end(seen);
		}
	};
	// All of it in one turn: the host notices everything afterwards.
	if (order === "workers_first") {
		kill(workers);
		untilDead(workers);
		const until = performance.now() + REPORTED_MS;
		while (performance.now() < until);
	}
	kill([...others, ...workers]);
	strangers.take(workers);
	const gone = (): boolean =>
		workers.every((pid) =>
			events.some((each) => each.type === "worker.exited" && each.pid === pid),
		);
	while (!gone()) await nextTurn();
	await pool.close();
}
