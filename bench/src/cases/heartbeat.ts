import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, PoolOptions } from "@snakepit/core";
import { type Case, lower, type Row } from "../case.ts";
import { type OurVariant, ourVariants } from "../contestants/our-variants.ts";
import { openPool, ourName, pidsOf } from "../contestants/ours.ts";
import { cpuSeconds } from "../measure/processes.ts";

const WORKERS = 100;
/** The default interval, several times. */
const WATCHED_MS_AT_MOST = 20_000;
/** So often each worker is asked before anything is measured: V8 compiles what a ping needs for as long as that is new. */
const PINGS_BEFORE = 200;

export const heartbeat: Case = {
	name: "heartbeat",
	title: "The heartbeat of 100 workers",
	about: `${WORKERS} idle Python workers (fewer in a quick run), with the heartbeat at its default interval of 2 s, and without it. Each worker is pinged ${PINGS_BEFORE} times first, because V8 compiles that code in a program that has run for a while. The figures are the processor time of the host and of all workers together, in percent of one core.`,
	figures: {
		host_percent: lower("host", "% of a core"),
		workers_percent: lower("all workers", "% of a core"),
	},
	plot: "host_percent",
	rows: ourVariants.flatMap((variant) => [
		rowFor(variant, "off"),
		rowFor(variant, "on"),
	]),
	aims: ourVariants.map(({ name }) => ({
		text: `${name}: the heartbeat's share, host`,
		unit: "% of a core",
		atMost: 0.5,
		value: (of) => {
			const on = of(named(name, "on"), "host_percent");
			const off = of(named(name, "off"), "host_percent");
			return on - off;
		},
	})),
};

function named(variant: string, heartbeat: "on" | "off"): string {
	return `${ourName(variant)}, heartbeat ${heartbeat}`;
}

function rowFor(variant: OurVariant, onOrOff: "on" | "off"): Row {
	const options: { heartbeat?: Exclude<PoolOptions["heartbeat"], undefined> } =
		onOrOff === "off" ? { heartbeat: "off" } : {};
	return {
		name: named(variant.name, onOrOff),
		kind: "ours",
		needs: { linux: true },
		measure: async (setting) => {
			const size = Math.min(WORKERS, setting.pace.mostWorkers);
			await using pool = await openPool(variant, setting, { size, ...options });
			const pids = pidsOf(pool);
			const ms = Math.min(WATCHED_MS_AT_MOST, setting.pace.measureMs * 10);
			await askAll(pool, PINGS_BEFORE);
			await sleep(setting.pace.warmUpMs);
			const began = performance.now();
			const before = process.cpuUsage();
			const workersBefore = cpuSeconds(pids);
			await sleep(ms);
			const { user, system } = process.cpuUsage(before);
			const workers = cpuSeconds(pids) - workersBefore;
			const seconds = (performance.now() - began) / 1000;
			return {
				host_percent: ((user + system) / 1e6 / seconds) * 100,
				workers_percent: (workers / seconds) * 100,
			};
		},
	};
}

/** Does nothing where the heartbeat is off. */
async function askAll(pool: Pool, times: number): Promise<void> {
	for (let i = 0; i < times; i++)
		await Promise.all(
			pool.workers().map(({ workerId }) => pool.ping(workerId)),
		);
}
