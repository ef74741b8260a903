import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { python } from "@snakepit/adapter-python";
import { createPool, type Pool } from "@snakepit/core";
import { pidsOf } from "./contestants/ours.ts";
import { median } from "./measure/percentile.ts";
import { proportionalBytes } from "./measure/processes.ts";
import { temporaryDirectory } from "./measure/temporary-directory.ts";

/*
 * What the guard costs a pool of Python workers as it is by default: the same pool without one and with one, in turns, so
 * that what else the machine does counts for both. Prints medians and their ratio.
 *
 *   node --conditions=snakepit-source bench/src/guard-ratio.ts --python PATH --rounds 9
 */

const { values: given } = parseArgs({
	options: {
		python: { type: "string", default: "python3" },
		rounds: { type: "string", default: "9" },
	},
});
const ROUNDS = Number(given.rounds);
const CALLS = 500;
const KINDS = ["off", "required"] as const;
type Kind = (typeof KINDS)[number];

function open(guard: Kind, size: number): Promise<Pool> {
	return createPool({
		adapter: python({
			tools: fileURLToPath(new URL("./python/tools.py", import.meta.url)),
			python: given.python,
		}),
		...{ size, guard, heartbeat: "off", dataDir: temporaryDirectory() },
	});
}

async function ready(guard: Kind, size: number): Promise<number> {
	const begun = performance.now();
	const pool = await open(guard, size);
	const ms = performance.now() - begun;
	await pool.close({ drainMs: 0 });
	return ms;
}

/** Of one call after the other, the median in microseconds. */
async function loneCall(pool: Pool): Promise<number> {
	const times: number[] = [];
	for (let call = 0; call < CALLS; call++) {
		const begun = performance.now();
		await pool.execute("echo", ["x"]);
		times.push(1_000 * (performance.now() - begun));
	}
	return median(times);
}

async function compare(
	what: string,
	unit: string,
	measure: (kind: Kind) => Promise<number>,
	rounds = ROUNDS,
): Promise<void> {
	const found: Record<Kind, number[]> = { off: [], required: [] };
	for (let round = 0; round < rounds; round++)
		for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed())
			found[kind].push(await measure(kind));
	const [off, on] = [median(found.off), median(found.required)];
	console.log(
		`${what}: ${off.toFixed(1)} ${unit} without, ${on.toFixed(1)} ${unit} with a guard, x ${(on / off).toFixed(2)} (${rounds} rounds)`,
	);
}

for (const size of [1, 16])
	await compare(`${size} ready`, "ms", (kind) => ready(kind, size));
await compare("100 ready", "ms", (kind) => ready(kind, 100), 3);
{
	await using off = await open("off", 1);
	await using required = await open("required", 1);
	const pools = { off, required };
	await compare("a lone call", "us", (kind) => loneCall(pools[kind]));
	await compare(
		"memory of a worker (PSS)",
		"KiB",
		async (kind) => proportionalBytes(pidsOf(pools[kind])[0] ?? 0) / 1_024,
	);
}
