import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Pool } from "@snakepit/core";
import { type Case, type Figures, lower, type Pace } from "../case.ts";
import { inProcessAdapter } from "../contestants/light-adapters.ts";
import { openPoolOf, ourAdapter, ourVariants } from "../contestants/ours.ts";
import {
	type CallRate,
	keepCalling,
	medianInterval,
	temporaryDirectory,
} from "../measure.ts";
import { SMALL_TEXT } from "./small-call.ts";

const CLIENT = fileURLToPath(new URL("./attached-client.ts", import.meta.url));
const IN_FLIGHT = 16;
/** Of one half of a round: two readings of the state. */
const HALF_MS = 1_000;
const POOL = "in this process, the pool alone";

export const control: Case = {
	name: "control",
	title: "The cost of an attached client",
	about: `A pool with ${IN_FLIGHT} calls under way, while another process follows the run as \`snakepit top\` does, compared with the same pool without it; the median of all pairs of ${HALF_MS / 1_000} s and its 95 % confidence interval.`,
	figures: {
		cpu_percent: lower("host CPU a call", "%"),
		cpu_low: lower("at least", "%"),
		cpu_high: lower("at most", "%"),
		rate_percent: lower("calls/s lost", "%"),
		rate_low: lower("at least", "%"),
		rate_high: lower("at most", "%"),
	},
	mostRuns: 1,
	rows: [
		{
			name: POOL,
			measure: async ({ pace }) => {
				const dataDir = temporaryDirectory();
				await using pool = await openPoolOf({
					...{ dataDir, size: 4, callsPerWorker: 16, control: true },
					adapter: inProcessAdapter(
						(_command, args) =>
							new Promise((resolve) => setImmediate(resolve, args)),
					),
				});
				return await measure(pool, "echo", dataDir, pace);
			},
		},
		...ourVariants.map((variant) => ({
			name: named(variant.name),
			measure: async (setting: Parameters<typeof ourAdapter>[1]) => {
				const dataDir = temporaryDirectory();
				await using pool = await openPoolOf({
					...{ dataDir, size: 1, callsPerWorker: IN_FLIGHT, control: true },
					adapter: ourAdapter(variant, setting),
				});
				return await measure(pool, "echo_async", dataDir, setting.pace);
			},
		})),
	],
};

function named(variant: string): string {
	return `Python, ${variant}`;
}

async function measure(
	pool: Pool,
	command: string,
	dataDir: string,
	{ measureMs, warmUpMs }: Pace,
): Promise<Figures> {
	const turn = () =>
		keepCalling(() => pool.execute(command, [SMALL_TEXT]), IN_FLIGHT, HALF_MS);
	await keepCalling(
		() => pool.execute(command, [SMALL_TEXT]),
		IN_FLIGHT,
		warmUpMs,
	);
	await using client = await attachedClient(dataDir);
	const cpu: number[] = [];
	const rate: number[] = [];
	const pairs = Math.max(6, Math.round(measureMs / 50));
	for (let pair = 0; pair < pairs; pair++) {
		const of = {} as Record<"attach" | "detach", CallRate>;
		const order = pair % 2 === 0 ? ["attach", "detach"] : ["detach", "attach"];
		for (const how of order as ("attach" | "detach")[]) {
			await client.order(how);
			of[how] = await turn();
		}
		const { attach, detach } = of;
		cpu.push((attach.cpuUs / detach.cpuUs - 1) * 100);
		rate.push((1 - attach.callsPerSecond / detach.callsPerSecond) * 100);
	}
	const cpus = medianInterval(cpu);
	const rates = medianInterval(rate);
	return {
		...{ cpu_percent: cpus.median, cpu_low: cpus.low, cpu_high: cpus.high },
		rate_percent: rates.median,
		...{ rate_low: rates.low, rate_high: rates.high },
	};
}

async function attachedClient(dataDir: string) {
	const child = spawn(
		process.execPath,
		["--conditions=snakepit-source", CLIENT, dataDir],
		{ stdio: ["pipe", "pipe", "inherit"] },
	);
	const exit = once(child, "exit");
	return {
		order: async (how: "attach" | "detach"): Promise<void> => {
			const done = once(child.stdout, "data");
			child.stdin.write(`${how}\n`);
			await Promise.race([
				done,
				exit.then(() => Promise.reject(new Error("The client has ended."))),
			]);
		},
		[Symbol.asyncDispose]: async () => {
			child.stdin.end();
			await exit;
		},
	};
}
