/**
 * What the guard costs: start of a chain, memory of a chain, and a worker's start
 * through it against Node's own.
 *
 *     node --conditions=snakepit-source packages/core/bench/guard-costs.ts [rounds]
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRun } from "@snakepit/core";
import type { ProcessSource } from "@snakepit/core/infrastructure";

const ROUNDS = Number(process.argv[2] ?? 40);

const starts: number[] = [];
const engages: number[] = [];
const memory: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
	const begun = performance.now();
	await withRun(true, async (_, outer, startedMs) => {
		engages.push(performance.now() - begun);
		starts.push(startedMs);
		const middle = childOf(outer);
		const guards = [outer, middle, childOf(middle)];
		memory.push(guards.reduce((sum, pid) => sum + pss(pid), 0) / 1024);
	});
}
tell("chain: from spawn to ready, ms", starts);
tell("chain: with the run, ms", engages);
tell("chain: proportional memory (PSS), MiB", memory);

for (const guarded of [false, true])
	await withRun(guarded, async (source) => {
		const one: number[] = [];
		for (let round = 0; round < ROUNDS; round++)
			one.push(await time(() => startAndEnd(source, 1)));
		const many = [];
		for (let round = 0; round < 5; round++)
			many.push(await time(() => startAndEnd(source, 100)));
		tell(`${source.name}: one worker, from start to its exit seen, ms`, one);
		tell(`${source.name}: 100 workers at once, ms`, many);
	});

async function withRun(
	guarded: boolean,
	action: (
		source: ProcessSource,
		outer: number,
		startedMs: number,
	) => Promise<void>,
): Promise<void> {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-bench-"));
	let outer = 0;
	let startedMs = 0;
	const run = await openRun({
		dataDir,
		guard: guarded ? "required" : "off",
		onEvent: (event) => {
			if (event.type !== "protection.started") return;
			outer = event.pid;
			startedMs = event.durationMs;
		},
	});
	const release = run.infrastructure.host.keepAlive();
	await action(run.infrastructure.source, outer, startedMs);
	await run.close();
	release();
	rmSync(dataDir, { recursive: true });
}

async function startAndEnd(source: ProcessSource, workers: number) {
	await Promise.all(
		Array.from({ length: workers }, async () => {
			const started = await source.start(
				{
					executable: "/bin/true",
					args: [],
					env: {},
					cwd: undefined,
					stdin: "empty",
					control: true,
				},
				() => {},
			);
			started.stdout.resume();
			started.stderr.resume();
			await started.exited;
		}),
	);
}

async function time(action: () => Promise<void>): Promise<number> {
	const begun = performance.now();
	await action();
	return performance.now() - begun;
}

function pss(pid: number): number {
	const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
	return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1]);
}

function childOf(pid: number): number {
	return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
}

function tell(what: string, values: readonly number[]): void {
	const sorted = [...values].sort((a, b) => a - b);
	const at = (part: number): string =>
		(sorted[Math.ceil(part * sorted.length) - 1] ?? 0).toFixed(1);
	console.log(
		`${what}: median ${at(0.5)}, p99 ${at(0.99)}, of ${values.length}`,
	);
}
