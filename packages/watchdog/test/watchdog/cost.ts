/**
 * What a watchdog costs and how fast it is, on this machine:
 *
 *     npx pnpm@12 build && node packages/watchdog/test/watchdog/cost.ts [ROUNDS]
 *
 * Each round is a host of its own with four shell workers, two of which ignore
 * SIGTERM and have a child that left their group. Prints one JSON object: the
 * watchdog's memory in KiB, and in milliseconds its start and the time from the
 * SIGKILL of the host until the last of the eight processes is gone.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createPool } from "@snakepit/core";
import { watchdog } from "@snakepit/watchdog";

const STUBBORN =
	"trap '' TERM; setsid sleep 100000 & echo up; while :; do sleep 100000; done";
const [what = "5", dataDir = ""] = process.argv.slice(2);
if (what === "host") await beHost();
else await measure(Number(what));

interface Up {
	readonly watchdog: number;
	readonly startMs: number;
}

async function beHost(): Promise<void> {
	let up = 0;
	let started: Up | undefined;
	setInterval(() => {}, 2 ** 30);
	await createPool({
		...{ dataDir, guard: "off" },
		size: 4,
		heartbeat: "off",
		output: { echo: "none" },
		protections: [watchdog({ whenUnavailable: "refuse" })],
		adapter: {
			name: "shell",
			launch: ({ index }) => ({
				lifeline: "off",
				executable: "/bin/sh",
				args: [
					"-c",
					index < 2 ? STUBBORN : "echo up; while :; do sleep 100000; done",
				],
			}),
			connect: async () => ({
				execute: async () => undefined,
				[Symbol.asyncDispose]: async () => {},
			}),
		},
		onEvent: (event) => {
			if (event.type === "protection.started")
				started = { watchdog: event.pid, startMs: event.durationMs };
			if (event.type === "worker.output") up += 1;
			if (up === 4) console.log(JSON.stringify(started));
		},
	});
}

async function measure(rounds: number): Promise<void> {
	const starts: number[] = [];
	const deaths: number[] = [];
	let memory: Readonly<Record<string, number>> = {};
	let leftovers = 0;
	for (let round = 0; round < rounds; round++) {
		const directory = mkdtempSync(join(tmpdir(), "snakepit-cost-"));
		const host = spawn(
			process.execPath,
			[...process.execArgv, import.meta.filename, "host", directory],
			{
				stdio: ["ignore", "pipe", "inherit"],
				env: { ...process.env, COST_OF: directory },
			},
		);
		const up = await new Promise<Up>((resolve, reject) => {
			createInterface({ input: host.stdout }).once("line", (line) =>
				resolve(JSON.parse(line)),
			);
			host.once("exit", () => reject(new Error("The host ended.")));
		});
		starts.push(up.startMs);
		memory = memoryOf(up.watchdog);
		const workers = carrying(`COST_OF=${directory}`).filter(
			(pid) => pid !== host.pid,
		);
		const killedAt = performance.now();
		host.kill("SIGKILL");
		let left = workers;
		while (left.length > 0 && performance.now() - killedAt < 5_000) {
			left = left.filter(isAlive);
			await new Promise((resolve) => setTimeout(resolve, 1));
		}
		deaths.push(performance.now() - killedAt);
		leftovers += left.length;
		while (isAlive(up.watchdog))
			await new Promise((resolve) => setTimeout(resolve, 10));
		rmSync(directory, { recursive: true });
	}
	console.log(
		JSON.stringify({
			node: process.version,
			rounds,
			memoryKiB: memory,
			startMs: spread(starts),
			deathMs: spread(deaths),
			leftovers,
		}),
	);
}

function memoryOf(pid: number): Readonly<Record<string, number>> {
	const text = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
	const field = (name: string): number =>
		Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]);
	return {
		rss: field("Rss"),
		pss: field("Pss"),
		private: field("Private_Clean") + field("Private_Dirty"),
	};
}

function carrying(text: string): readonly number[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.filter((pid) => {
			try {
				return readFileSync(`/proc/${pid}/environ`, "latin1").includes(text);
			} catch {
				return false;
			}
		})
		.map(Number);
}

function isAlive(pid: number): boolean {
	try {
		return !/^\d+ \(.*\) [ZX]/.test(
			readFileSync(`/proc/${pid}/stat`, "latin1"),
		);
	} catch {
		return false;
	}
}

function spread(values: readonly number[]): Readonly<Record<string, number>> {
	const sorted = [...values].sort((a, b) => a - b);
	const at = (share: number): number =>
		Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN);
	return { p50: at(0.5), p90: at(0.9), max: at(1) };
}
