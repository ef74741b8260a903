import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createPool, type SnakepitEvent } from "@snakepit/core";
import type { Adapter } from "@snakepit/core/adapter";
import { end, everyProcess, look } from "../../src/harness/process-table.ts";
import { chosenProtections } from "../choose-protections.ts";
import type { ProtectionName } from "../orders.ts";
import { workerAdapter } from "../worker-adapter.ts";
import type { Scene } from "./own-children.ts";
import { type Strangers, untilDead } from "./strangers.ts";

const AT_ONCE = 16;
/** For what a guard writes to its host when its workers have ended. */
const SAID_MS = 100;

/** A program that says one line and sleeps. */
const sleeper: Adapter = {
	name: "sleeper",
	launch: () => ({
		executable: "/bin/sh",
		args: ["-c", "echo up; exec sleep 1000"],
		stdio: "adapter",
	}),
	connect: async ({ stdout, exited }) => {
		const up = new Promise((resolve) => stdout?.once("data", resolve));
		await Promise.race([up, exited]);
		return {
			execute: () => Promise.reject(new Error("It takes no calls.")),
			[Symbol.asyncDispose]: async () => {},
		};
	},
};

/** Whose workers, and in which order they and those above them end. */
interface Family {
	readonly protections: readonly ProtectionName[];
	readonly adapter: () => Adapter;
	readonly order: "all_at_once" | "workers_first";
}

const python = (): Adapter =>
	workerAdapter({
		dataDir: "",
		worker: "python",
		size: AT_ONCE,
		program: join(import.meta.dirname, "waits.py"),
		protections: [],
		preload: true,
	});

/** The workers of a guard. */
export const guardLost: Scene = (strangers) =>
	lose(strangers, {
		protections: ["guard"],
		adapter: () => sleeper,
		order: "all_at_once",
	});

/** The workers of a guard that has told of their ends before it is lost, while the host stands still. */
export const guardLostAfterItTold: Scene = (strangers) =>
	lose(strangers, {
		protections: ["guard"],
		adapter: () => sleeper,
		order: "workers_first",
	});

/** The workers of a preloaded parent. */
export const parentLost: Scene = (strangers) =>
	lose(strangers, { protections: [], adapter: python, order: "all_at_once" });

/** The workers of a preloaded parent below a guard. */
export const parentAndGuardLost: Scene = (strangers) =>
	lose(strangers, {
		protections: ["guard"],
		adapter: python,
		order: "all_at_once",
	});

async function lose(strangers: Strangers, family: Family): Promise<void> {
	const events: SnakepitEvent[] = [];
	const pool = await createPool({
		adapter: family.adapter(),
		size: AT_ONCE,
		...chosenProtections(family.protections),
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
	].flatMap((pid) => [pid, ...below(pid)]);
	const others = new Set(parents.filter((pid) => !workers.includes(pid)));
	const kill = (pids: Iterable<number>): void => {
		for (const pid of pids) {
			const seen = look(pid);
			if (seen !== undefined) end(seen);
		}
	};
	// All of it in one turn: the host hears of everything afterwards.
	if (family.order === "workers_first") {
		kill(workers);
		untilDead(workers);
		const until = performance.now() + SAID_MS;
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

function below(pid: number): readonly number[] {
	const all = everyProcess();
	const found = [pid];
	for (const parent of found)
		for (const each of all) if (each.parent === parent) found.push(each.pid);
	return found.slice(1);
}
