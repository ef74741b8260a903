import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Each program runs so many times, in turns; its cheapest run counts, since load only ever adds. */
const RUNS = 9;

/** What importing a package costs more than a program that imports nothing. */
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
				`import "${entry}";`,
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

function addedBy(program: string, cwd: string, env: NodeJS.ProcessEnv): Cost {
	// Fills the compile cache.
	costOf(program, cwd, env);
	const pairs = Array.from({ length: RUNS }, () => ({
		empty: costOf("", cwd, env),
		full: costOf(program, cwd, env),
	}));
	const added = (of: keyof Cost): number =>
		Math.min(...pairs.map(({ full }) => full[of])) -
		Math.min(...pairs.map(({ empty }) => empty[of]));
	return { processorMs: added("processorMs"), megabytes: added("megabytes") };
}

const REPORT = `
	const { user, system } = process.cpuUsage();
	console.log(JSON.stringify({
		processorMs: (user + system) / 1e3,
		megabytes: process.memoryUsage.rss() / 1e6,
	}));`;

function costOf(program: string, cwd: string, env: NodeJS.ProcessEnv): Cost {
	const { NODE_COMPILE_CACHE: _, NODE_OPTIONS: __, ...rest } = process.env;
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		["--input-type=module", "--eval", program + REPORT],
		{ cwd, encoding: "utf8", env: { ...rest, ...env } },
	);
	assert.equal(status, 0, stderr);
	return JSON.parse(stdout);
}
