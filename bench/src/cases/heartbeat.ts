import { setTimeout as sleep } from "node:timers/promises";
import type { Pool } from "@snakepit/core";
import { type Case, lower, type Row } from "../case.ts";
import {
	type OurVariant,
	openPool,
	ourName,
	ourVariants,
	pidsOf,
} from "../contestants/ours.ts";
import { cpuSeconds } from "../measure.ts";

const WORKERS = 100;
/** The default interval, several times. */
const WATCHED_MS_AT_MOST = 20_000;
/** So often each worker is asked before anything is measured: V8 compiles what a ping needs for as long as that is new. */
const PINGS_BEFORE = 200;

export const heartbeat: Case = {
	name: "heartbeat",
	title: "The heartbeat of 100 workers",
	about: `Processor time of ${WORKERS} idle Python workers and their host, with the heartbeat at its default interval of 2 s, and without it.`,
	figures: {
		host_percent: lower("host", "% of a core"),
		workers_percent: lower("all workers", "% of a core"),
	},
	rows: ourVariants.flatMap((variant) => [
		rowFor(variant, "off"),
		rowFor(variant, "on"),
	]),
};

function rowFor(variant: OurVariant, onOrOff: "on" | "off"): Row {
	const options = onOrOff === "off" ? ({ heartbeat: "off" } as const) : {};
	return {
		name: `${ourName(variant.name)}, heartbeat ${onOrOff}`,
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
