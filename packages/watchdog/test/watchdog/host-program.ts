/**
 * A host in a process of its own: starts pools of programs that know nothing of
 * Snakepit, tells what happens on standard output, one JSON value a line, and
 * follows the orders on its standard input.
 */
import { closeSync, lstatSync, readdirSync, readlinkSync } from "node:fs";
import { createInterface } from "node:readline";
import { createPool, type Pool, type SnakepitEvent } from "@snakepit/core";
import type { Adapter } from "@snakepit/core/adapter";
import type { Protection } from "@snakepit/core/protection";
import { copyThisProcess } from "../../../../scripts/copied-host.ts";
import { watchdog } from "../../src/index.ts";
import type { HostLine, HostOrder } from "./hosts.ts";

const order = JSON.parse(process.argv[2] ?? "") as HostOrder;

function report(line: HostLine): void {
	process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Ends this very program in the turn in which a worker is recorded, right after it was sent to the watchdog. */
const suicide: Protection = {
	name: "suicide",
	whenUnavailable: "refuse",
	inspect: async () => ({ layer: "suicide", status: "available", detail: "" }),
	engage: async () => ({
		watch: () => process.kill(process.pid, "SIGKILL"),
		release: async () => {},
	}),
};

function programs(commands: readonly (readonly string[])[]): Adapter {
	return {
		name: "programs",
		launch: ({ index }) => {
			const [executable = "", ...args] = commands[index] ?? [];
			// Nothing but the watchdog ends them.
			return { executable, args, lifeline: "off" };
		},
		connect: async () => ({
			execute: async () => undefined,
			[Symbol.asyncDispose]: async () => {},
		}),
	};
}

async function open(dataDir: string, name: string): Promise<Pool> {
	const { commands } = order;
	const pids = new Set<number>();
	let up = 0;
	const isUp = Promise.withResolvers<void>();
	const pool = await createPool({
		name,
		adapter: programs(commands),
		size: commands.length,
		dataDir,
		stop: { killAfterMs: 300 },
		heartbeat: "off",
		output: { echo: "none" },
		// What the watchdog does by itself.
		guard: "off",
		protections: [
			watchdog(order.options),
			...(order.diesAtRecord ? [suicide] : []),
		],
		onEvent: (event: SnakepitEvent) => {
			if (event.type === "worker.spawned") pids.add(event.pid);
			if (event.type === "worker.output" && event.line === "up") up += 1;
			if (up === commands.length) isUp.resolve();
			if (/^(protection|run|orphan|registry)\./.test(event.type))
				report({ kind: "event", pool: name, event });
		},
	});
	await isUp.promise;
	report({ kind: "up", pool: name, pids: [...pids] });
	return pool;
}

const holdOpen = setInterval(() => {}, 2 ** 30);
const pools: Pool[] = [];
async function openAll(): Promise<void> {
	for (const [index, dataDir] of order.dataDirs.entries())
		pools.push(await open(dataDir, `p${index}`));
	report({ kind: "ready" });
}
await openAll();
if (order.closesThePipe)
	for (const descriptor of readdirSync("/proc/self/fd")) {
		if (Number(descriptor) <= 2) continue;
		const path = `/proc/self/fd/${descriptor}`;
		const link =
			lstatSync(path, { throwIfNoEntry: false }) && readlinkSync(path);
		if (link?.startsWith("socket:")) closeSync(Number(descriptor));
	}

for await (const line of createInterface({ input: process.stdin })) {
	if (line === "exit") process.exit(7);
	if (line === "open") await openAll();
	if (line === "copy" && order.copying !== undefined)
		report({ kind: "copied", pid: copyThisProcess(order.copying) });
	if (line === "close") {
		await Promise.all(
			pools.splice(0).map((pool) => pool.close({ drainMs: 0 })),
		);
		report({ kind: "closed" });
	}
	// The program has nothing left to do: its pools are closed by that.
	if (line === "idle") break;
}
clearInterval(holdOpen);
process.stdin.destroy();
