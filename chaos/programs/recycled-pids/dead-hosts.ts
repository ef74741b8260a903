import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { SeededRandom } from "@snakepit/core/testing";
import {
	end,
	lives,
	look,
	type SeenProcess,
} from "../../src/harness/process-table.ts";
import { Stage } from "../../src/harness/stage.ts";
import type { ProtectionName } from "../orders.ts";
import { Conversation } from "./conversation.ts";
import type { Scene } from "./own-children.ts";
import type { Strangers } from "./strangers.ts";

const AT_ONCE = 16;
const WORKERS = {
	worker: "shell",
	program: join(import.meta.dirname, "sleeps.sh"),
} as const;

/** The watchdog of a dead host comes to its workers when they are others. */
export const watchdogAwakens: Scene = (strangers) =>
	onStage(["watchdog"], async (stage) => {
		const layers = await killWithoutLayers(stage, strangers);
		for (const { pid } of layers) process.kill(pid, "SIGCONT");
		while (layers.some(lives)) await pause(5);
	});

/** The next start reads of workers that are others now. */
export const nextStart: Scene = (strangers) =>
	onStage([], async (stage) => {
		await killWithoutLayers(stage, strangers);
		const next = await stage.ready({ ...WORKERS, size: 1 });
		const { deadRuns } = await next.told<{ deadRuns: number }>(
			"cleanup.finished",
		);
		if (deadRuns !== 1) throw new Error(`It found ${deadRuns} dead runs.`);
	});

async function onStage(
	protections: readonly ProtectionName[],
	act: (stage: Stage) => Promise<void>,
): Promise<void> {
	await using stage = await Stage.open(new SeededRandom(1), protections);
	await act(stage);
}

/** Ends a host and its workers while what protects them is stopped. Returns the stopped processes. */
async function killWithoutLayers(
	stage: Stage,
	strangers: Strangers,
): Promise<readonly SeenProcess[]> {
	const host = await stage.ready({ ...WORKERS, size: AT_ONCE });
	const workers = await host.told<readonly number[]>("ready");
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

/** A guard sends its signals when what it saw are others; nothing that it forked itself can be. */
export const guardSends: Scene = async (strangers) => {
	const guard = guardOf(strangers);
	const pids = strangers.spawn(AT_ONCE, {});
	const { seen } = guard.ask<{ seen: number }>({ see: pids });
	strangers.replace(pids);
	const { gone } = guard.ask<{ gone: number }>({ send: true });
	if (seen !== 2 * AT_ONCE || gone !== seen)
		throw new Error(`${gone} of ${seen} signals went to nobody.`);
};

const guards = new WeakMap<Strangers, Conversation>();

/** One for all rounds: starting Python is most of a round. It ends with the namespace. */
function guardOf(strangers: Strangers): Conversation {
	const guard =
		guards.get(strangers) ??
		new Conversation(strangers.directory, "guard_kills.py");
	guards.set(strangers, guard);
	return guard;
}
