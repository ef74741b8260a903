import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Pool } from "@snakepit/core";
import {
	type Case,
	type Figures,
	lower,
	type Pace,
	type Setting,
} from "../case.ts";
import { inProcessAdapter } from "../contestants/light-adapters.ts";
import {
	type OurVariant,
	openPoolOf,
	ourAdapter,
	ourVariants,
} from "../contestants/ours.ts";
import {
	type CallRate,
	keepCalling,
	medianInterval,
	ratesByTurns,
	temporaryDirectory,
} from "../measure.ts";
import { SMALL_TEXT } from "./small-calls.ts";

const CLIENT = fileURLToPath(new URL("./attached-client.ts", import.meta.url));
const IN_FLIGHT = 16;
/** Of one half of a pair: two readings of the state. */
const HALF_MS = 1_000;
const POOL = "in this process, the pool alone";

const FIGURES = {
	cpu_percent: lower("host CPU a call", "%"),
	cpu_low: lower("at least", "%"),
	cpu_high: lower("at most", "%"),
	rate_percent: lower("calls/s lost", "%"),
	rate_low: lower("at least", "%"),
	rate_high: lower("at most", "%"),
};

export const control: Case = {
	name: "control",
	title: "The cost of an attached client",
	about: `A pool with ${IN_FLIGHT} calls under way, while another process follows the run as \`snakepit top\` does, compared with the same pool without it; the median of all pairs of ${HALF_MS / 1_000} s and its 95 % confidence interval.`,
	figures: FIGURES,
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
				return await whileFollowed(pool, "echo", dataDir, pace);
			},
		},
		...ourVariants.map((variant) => ({
			name: named(variant.name),
			measure: async (setting: Setting) => {
				const dataDir = temporaryDirectory();
				await using pool = await openPoolOf({
					...{ dataDir, size: 1, callsPerWorker: IN_FLIGHT, control: true },
					adapter: ourAdapter(variant, setting),
				});
				return await whileFollowed(pool, "echo_async", dataDir, setting.pace);
			},
		})),
	],
};

/** So many lines a call of the flood prints. */
const FLOOD = 1_000;

export const backlog: Case = {
	name: "backlog",
	title: "The cost of keeping the last lines",
	about: `Calls that print, of a run that keeps the last lines of its workers for \`snakepit logs\`, compared with one that does not (\`control: { scopes: ["read"] }\`); the median of all pairs of ${HALF_MS / 1_000} s and its 95 % confidence interval.`,
	figures: FIGURES,
	mostRuns: 1,
	rows: ourVariants.flatMap((variant) => [
		{
			name: `${named(variant.name)}, a line a call`,
			measure: (setting: Setting) =>
				withLinesKept(variant, setting, (pool) =>
					pool.execute("say", [SMALL_TEXT]),
				),
		},
		{
			name: `${named(variant.name)}, ${FLOOD.toLocaleString("en-US")} lines a call`,
			measure: (setting: Setting) =>
				withLinesKept(variant, setting, (pool) =>
					pool.execute("say_often", [SMALL_TEXT, FLOOD]),
				),
		},
	]),
};

function named(variant: string): string {
	return `Python, ${variant}`;
}

async function whileFollowed(
	pool: Pool,
	command: string,
	dataDir: string,
	{ measureMs, warmUpMs }: Pace,
): Promise<Figures> {
	const turn = (ms: number) =>
		keepCalling(() => pool.execute(command, [SMALL_TEXT]), IN_FLIGHT, ms);
	await turn(warmUpMs);
	await using client = await attachedClient(dataDir);
	const half = async (how: "attach" | "detach"): Promise<CallRate> => {
		await client.order(how);
		return await turn(HALF_MS);
	};
	return await byTurns(
		() => half("attach"),
		() => half("detach"),
		measureMs,
	);
}

async function withLinesKept(
	variant: OurVariant,
	setting: Setting,
	call: (pool: Pool) => Promise<unknown>,
): Promise<Figures> {
	const open = (scopes: readonly ("read" | "logs")[]) =>
		openPoolOf({
			...{ size: 1, control: { scopes }, output: { echo: "none" } },
			adapter: ourAdapter(variant, setting),
		});
	await using keeping = await open(["read", "logs"]);
	await using reading = await open(["read"]);
	const turn = (pool: Pool, ms: number) =>
		keepCalling(() => call(pool), IN_FLIGHT, ms);
	const { warmUpMs, measureMs } = setting.pace;
	for (const pool of [keeping, reading]) await turn(pool, warmUpMs);
	return await byTurns(
		() => turn(keeping, HALF_MS),
		() => turn(reading, HALF_MS),
		measureMs,
	);
}

/** What the first costs more than the second. */
async function byTurns(
	costly: () => Promise<CallRate>,
	cheap: () => Promise<CallRate>,
	measureMs: number,
): Promise<Figures> {
	const pairs = Math.max(6, Math.round(measureMs / 50));
	const rates = await ratesByTurns([costly, cheap], pairs);
	const cpu = medianInterval(
		rates.map(([more, less]) => (more.cpuUs / less.cpuUs - 1) * 100),
	);
	const rate = medianInterval(
		rates.map(
			([more, less]) => (1 - more.callsPerSecond / less.callsPerSecond) * 100,
		),
	);
	return {
		...{ cpu_percent: cpu.median, cpu_low: cpu.low, cpu_high: cpu.high },
		...{ rate_percent: rate.median, rate_low: rate.low, rate_high: rate.high },
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
