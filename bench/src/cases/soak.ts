import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { SnakepitError } from "@snakepit/core";
import { type Case, higher, lower, type Row } from "../case.ts";
import {
	type OurVariant,
	openPool,
	ourName,
	ourVariants,
} from "../contestants/ours.ts";
import { collectGarbage, heapBytes } from "../measure.ts";
import { SMALL_TEXT } from "./small-calls.ts";

const WORKERS = 4;
const IN_FLIGHT = 16;
const SAMPLES = 30;
/** A crash every so often, by SIGKILL or by the tool's own exit in turn. */
const CRASH_EVERY_MS = 1_000;

export const soak: Case = {
	name: "soak",
	title: "Random crashes for a long time",
	about: `${WORKERS} workers with ${IN_FLIGHT} calls always under way, of which one is killed or ends itself every second; growth is that of the last third of the samples compared with the first.`,
	figures: {
		minutes: higher("time", "min"),
		calls: higher("calls", "calls"),
		lost: lower("lost with workers", "calls"),
		crashes: higher("crashes", ""),
		unsettled: lower("not settled once", "calls"),
		objects_growth_percent: lower("growth of objects in the heap", "%"),
		code_growth_percent: lower("growth of compiled code", "%"),
		resident_growth_percent: lower("resident growth", "%"),
		descriptors_growth: lower("descriptors more", ""),
	},
	mostRuns: 1,
	together: true,
	rows: ourVariants.map(rowFor),
};

interface Sample {
	readonly objects: number;
	readonly code: number;
	readonly resident: number;
	readonly descriptors: number;
}

function rowFor(variant: OurVariant): Row {
	return {
		name: ourName(variant.name),
		needs: { linux: true },
		measure: async (setting) => {
			const { soakMs } = setting.pace;
			await using pool = await openPool(variant, setting, {
				size: WORKERS,
				start: { maxRestarts: 1_000_000, backoffMs: 0 },
				output: { echo: "none" },
			});
			const end = performance.now() + soakMs;
			const tally = { started: 0, settled: 0, lost: 0, wrong: 0, crashes: 0 };
			const goOn = (): boolean => performance.now() < end;

			const caller = async (): Promise<void> => {
				while (goOn()) {
					const text = `${SMALL_TEXT}${++tally.started}`;
					try {
						if ((await pool.execute("echo", [text])) !== text) tally.wrong++;
					} catch (error) {
						if (!(error instanceof SnakepitError)) throw error;
						tally.lost++;
					}
					tally.settled++;
				}
			};
			const crasher = async (): Promise<void> => {
				while (goOn()) {
					await sleep(CRASH_EVERY_MS);
					if (tally.crashes++ % 2 === 0) {
						await pool.execute("crash").catch(() => {});
						continue;
					}
					const ready = pool.workers().filter(({ state }) => state === "ready");
					const victim = ready[Math.floor(Math.random() * ready.length)];
					// A child whose end this process has not seen: the pid is its own.
					if (victim?.pid !== undefined) process.kill(victim.pid, "SIGKILL");
				}
			};
			const samples: Sample[] = [];
			const sampler = async (): Promise<void> => {
				while (goOn()) {
					await sleep(soakMs / SAMPLES);
					samples.push(sample());
				}
			};
			const callers = Array.from({ length: IN_FLIGHT }, caller);
			await Promise.all([...callers, crasher(), sampler()]);
			// The pool's own books must say the same.
			const { calls } = pool.statistics();
			const settled =
				calls.succeeded + calls.failed + calls.aborted + calls.timed_out;
			return {
				minutes: soakMs / 60_000,
				calls: tally.started,
				lost: tally.lost,
				crashes: tally.crashes,
				unsettled:
					Math.abs(tally.started - tally.settled) +
					Math.abs(calls.accepted - settled) +
					tally.wrong,
				objects_growth_percent: growth(samples, "objects").percent,
				code_growth_percent: growth(samples, "code").percent,
				resident_growth_percent: growth(samples, "resident").percent,
				descriptors_growth: growth(samples, "descriptors").difference,
			};
		},
	};
}

function sample(): Sample {
	collectGarbage();
	const descriptors = readdirSync("/proc/self/fd").length;
	return { ...heapBytes(), resident: process.memoryUsage.rss(), descriptors };
}

/** The last third against the first; of each the least, which is there at the quietest moment. */
function growth(samples: readonly Sample[], of: keyof Sample) {
	const values = samples.map((each) => each[of]);
	const third = Math.ceil(values.length / 3);
	const first = Math.min(...values.slice(0, third));
	const last = Math.min(...values.slice(-third));
	return { percent: (last / first - 1) * 100, difference: last - first };
}
