import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Pool } from "@snakepit/core";
import { aim, type Case, type Figures, lower, type Pace } from "../case.ts";
import { inProcessAdapter } from "../contestants/in-process.ts";
import { ourVariants } from "../contestants/our-variants.ts";
import { openPoolOf, ourAdapter } from "../contestants/ours.ts";
import { type CallRate, keepCalling } from "../measure/latency.ts";
import { medianInterval } from "../measure/median-interval.ts";
import { temporaryDirectory } from "../measure/temporary-directory.ts";
import { SMALL_TEXT } from "./small-call.ts";

const CLIENT = fileURLToPath(
	new URL("../measure/attached-client.ts", import.meta.url),
);
const IN_FLIGHT = 16;
/** Of one half of a round: two readings of the state. */
const HALF_MS = 1_000;
const AT_MOST_PERCENT = 3;
const POOL = "in this process, the pool alone";

export const control: Case = {
	name: "control",
	title: "The cost of an attached client",
	about: `A pool with ${IN_FLIGHT} calls of 100 characters in flight. Another process follows the run, as \`snakepit top\` does: it is attached for ${HALF_MS / 1_000} s and detached for ${HALF_MS / 1_000} s, in changing order. Each such pair gives one difference in percent; the table shows the median of all pairs and its 95 % confidence interval. In this process: no worker program; the connection answers at once, so only the pool is measured.`,
	figures: {
		cpu_percent: lower("host CPU a call", "%"),
		cpu_low: lower("at least", "%"),
		cpu_high: lower("at most", "%"),
		rate_percent: lower("calls/s lost", "%"),
		rate_low: lower("at least", "%"),
		rate_high: lower("at most", "%"),
	},
	plot: "cpu_percent",
	mostRuns: 1,
	rows: [
		{
			name: POOL,
			kind: "ours",
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
			kind: "ours" as const,
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
	aims: ourVariants.map(({ name }) =>
		aim(
			`${name}: calls/s lost while somebody is attached`,
			"%",
			[named(name), "rate_percent"],
			{ atMost: AT_MOST_PERCENT },
		),
	),
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
