import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const RUNS = 5;
const WORKERS = 20;
/** Each program runs so many times, in turns; its cheapest run counts, since load only ever adds. */
const TURNS = 9;

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
 * Measures what `snakepit ps` costs where 5 programs have 20 workers each, in processor time more than a program that
 * does nothing, and throws when that is over the budget.
 *
 * @param cwd a project in which the packages are installed.
 */
export async function psIsLight(cwd: string, budgetMs: number): Promise<void> {
	const place = join(cwd, "ps");
	const dataDir = join(place, "ledger");
	mkdirSync(dataDir, { recursive: true });
	const program = join(place, "host.mjs");
	writeFileSync(program, HOST);
	const hosts = Array.from({ length: RUNS }, () =>
		spawn(process.execPath, [program, dataDir], {
			stdio: ["pipe", "pipe", "inherit"],
		}),
	);
	try {
		await Promise.all(hosts.map(({ stdout }) => once(stdout, "data")));
		const command = join(
			cwd,
			"node_modules/@snakepit/cli/dist/command/snakepit.js",
		);
		const ps = [command, "ps", "--data-dir", dataDir];
		const env = { ...process.env, XDG_CACHE_HOME: join(place, "cache") };
		const listed = spawnSync(process.execPath, ps, { encoding: "utf8", env });
		assert.match(listed.stdout, /^5 runs are alive with 100 workers\.$/m);
		const turns = Array.from({ length: TURNS }, () => ({
			ps: processorMs(ps, env),
			nothing: processorMs(["--eval", "0"], env),
		}));
		const addedMs =
			Math.min(...turns.map((turn) => turn.ps)) -
			Math.min(...turns.map((turn) => turn.nothing));
		console.log(
			`snakepit ps of ${RUNS} runs with ${WORKERS} workers each: ${addedMs.toFixed(0)} ms of processor time more than an empty program`,
		);
		assert(
			addedMs <= budgetMs,
			`snakepit ps may cost ${budgetMs} ms: see what it loads (packages/cli/test/runs/what-it-loads.test.ts)`,
		);
	} finally {
		const ends = hosts.map((host) => once(host, "exit"));
		for (const { stdin } of hosts) stdin.end();
		await Promise.all(ends);
	}
}

/** Writes at its end what it took. */
const REPORT = `data:text/javascript,${encodeURIComponent(`
	process.on("exit", () => {
		const { user, system } = process.cpuUsage();
		process.stderr.write(String((user + system) / 1e3));
	});`)}`;

/** User and system time of one run of Node. */
function processorMs(args: readonly string[], env: NodeJS.ProcessEnv): number {
	const { status, stderr } = spawnSync(
		process.execPath,
		["--import", REPORT, ...args],
		{ encoding: "utf8", env },
	);
	assert.equal(status, 0, stderr);
	return Number(stderr);
}
