import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Each program runs so many times, in turns; its cheapest run counts, since load only ever adds. */
const TURNS = 9;

/** What a program costs more than one that does nothing. */
export interface Cost {
	readonly processorMs: number;
	readonly megabytes: number;
}

/**
 * Measures what it costs to import `entry` from the project `cwd`, with Node's
 * compile cache filled and without one, and throws when that is over the budget.
 */
export function importIsLight(cwd: string, entry: string, budget: Cost): void {
	const cache = mkdtempSync(join(tmpdir(), "snakepit-compiled-"));
	try {
		for (const [kind, env] of [
			["no compile cache", {}],
			["a filled compile cache", { NODE_COMPILE_CACHE: cache }],
		] as const) {
			const { processorMs, megabytes } = addedBy(
				["--input-type=module", "--eval", `import "${entry}";`],
				cwd,
				env,
			);
			console.log(
				`import "${entry}", ${kind}: ${processorMs.toFixed(0)} ms of processor time, ${megabytes.toFixed(1)} MB`,
			);
			assert(
				processorMs <= budget.processorMs && megabytes <= budget.megabytes,
				`importing ${entry} may cost ${budget.processorMs} ms and ${budget.megabytes} MB: see which modules it loads (packages/core/test/structure/light-import.test.ts)`,
			);
		}
	} finally {
		rmSync(cache, { recursive: true });
	}
}

const RUNS = 5;
const WORKERS = 20;
const HOST = `
	import { lines } from "@snakepit/adapter-stdio";
	import { createPool } from "@snakepit/core";
	await using pool = await createPool({
		adapter: lines({ command: ["cat"] }),
		size: ${WORKERS},
		dataDir: process.argv[2],
	});
	console.log("up");
	for await (const _ of process.stdin);`;

/**
 * Measures what `snakepit ps` costs where 5 programs have 20 workers each, and throws when its processor time is over
 * the budget.
 *
 * @param cwd a project in which the packages are installed.
 * @param budget how many times the processor time of an empty program it may add: the same machine is faster in one hour
 * than in the next.
 */
export async function psIsLight(cwd: string, budget: number): Promise<void> {
	const directory = join(cwd, "ps");
	const dataDir = join(directory, "ledger");
	mkdirSync(dataDir, { recursive: true });
	const program = join(directory, "host.mjs");
	writeFileSync(program, HOST);
	const hosts = Array.from({ length: RUNS }, () =>
		spawn(process.execPath, [program, dataDir], {
			stdio: ["pipe", "pipe", "inherit"],
		}),
	);
	try {
		await Promise.all(hosts.map(({ stdout }) => once(stdout, "data")));
		const command = "node_modules/@snakepit/cli/dist/command/snakepit.js";
		const ps = [join(cwd, command), "ps", "--data-dir", dataDir];
		const env = { XDG_CACHE_HOME: join(directory, "cache") };
		const { stdout } = spawnSync(process.execPath, ps, {
			encoding: "utf8",
			env: { ...process.env, ...env },
		});
		assert.match(stdout, /^5 programs run with 5 pools: 100 workers ready, /);
		const { processorMs, emptyMs } = addedBy(ps, cwd, env);
		const times = processorMs / emptyMs;
		console.log(
			`snakepit ps of ${RUNS} runs with ${WORKERS} workers each: ${processorMs.toFixed(0)} ms of processor time more than an empty program, ${times.toFixed(1)} times what that takes`,
		);
		assert(
			times <= budget,
			`snakepit ps may add ${budget} times what an empty program takes: see what it loads (packages/cli/test/runs/what-it-loads.test.ts)`,
		);
	} finally {
		const ends = hosts.map((host) => once(host, "exit"));
		for (const { stdin } of hosts) stdin.end();
		await Promise.all(ends);
	}
}

function addedBy(
	args: readonly string[],
	cwd: string,
	env: NodeJS.ProcessEnv,
): Cost & { readonly emptyMs: number } {
	const nothing = ["--input-type=module", "--eval", ""];
	// Fills the compile cache.
	costOf(args, cwd, env);
	const pairs = Array.from({ length: TURNS }, () => ({
		nothing: costOf(nothing, cwd, env),
		program: costOf(args, cwd, env),
	}));
	const added = (of: keyof Cost): number =>
		Math.min(...pairs.map(({ program }) => program[of])) -
		Math.min(...pairs.map(({ nothing }) => nothing[of]));
	const emptyMs = Math.min(...pairs.map(({ nothing }) => nothing.processorMs));
	return {
		...{ processorMs: added("processorMs"), megabytes: added("megabytes") },
		emptyMs,
	};
}

/** Writes at the end of a program what it took. */
const REPORT = `data:text/javascript,${encodeURIComponent(`
	process.on("exit", () => {
		const { user, system } = process.cpuUsage();
		const megabytes = process.memoryUsage.rss() / 1e6;
		process.stderr.write(JSON.stringify({ processorMs: (user + system) / 1e3, megabytes }));
	});`)}`;

/** What one run of Node costs. */
function costOf(
	args: readonly string[],
	cwd: string,
	env: NodeJS.ProcessEnv,
): Cost {
	const { NODE_COMPILE_CACHE: _, NODE_OPTIONS: __, ...rest } = process.env;
	const { status, stderr } = spawnSync(
		process.execPath,
		["--import", REPORT, ...args],
		{ cwd, encoding: "utf8", env: { ...rest, ...env } },
	);
	assert.equal(status, 0, stderr);
	return JSON.parse(stderr);
}
