import type { Pool } from "@snakepit/core";
import { type Case, lower } from "../case.ts";
import { openPool, ourVariants } from "../contestants/ours.ts";

const ITEMS = 10_000;
const IN_FLIGHT = 16;

type Way = (
	pool: Pool,
	items: readonly number[],
) => Promise<readonly unknown[]>;

/** The ways to have every item of a list doubled by a worker. */
const WAYS: Readonly<Record<string, Way>> = {
	"one call after the other": async (pool, items) => {
		const doubled: unknown[] = [];
		for (const item of items)
			doubled.push(await pool.execute("double", [item]));
		return doubled;
	},
	[`pool.map, ${IN_FLIGHT} calls at once`]: (pool, items) => {
		const each = items.map((item) => [item]);
		const options = { concurrency: IN_FLIGHT };
		return Array.fromAsync(pool.map("double", each, options));
	},
	"one call, an input stream": (pool, items) =>
		Array.fromAsync(pool.stream("double_each", {}, { input: items })),
	"one call, one list": async (pool, items) =>
		(await pool.execute("double_all", [items])) as readonly unknown[],
};

export const batch: Case = {
	name: "batch",
	title: `${ITEMS.toLocaleString("en")} small items`,
	about: `One worker doubles ${ITEMS.toLocaleString("en")} numbers: the time from the first call to the last result.`,
	figures: {
		total_ms: lower("all items", "ms"),
	},
	rows: ourVariants.flatMap((variant) =>
		Object.entries(WAYS).map(([name, way]) => ({
			name: `${variant.name}: ${name}`,
			measure: async (setting) => {
				await using pool = await openPool(variant, setting, { size: 1 });
				await timed(pool, way, ITEMS / 10);
				return { total_ms: await timed(pool, way, ITEMS) };
			},
		})),
	),
};

async function timed(pool: Pool, way: Way, count: number): Promise<number> {
	const items = Array.from({ length: count }, (_, index) => index);
	const begun = performance.now();
	const doubled = await way(pool, items);
	const tookMs = performance.now() - begun;
	if (doubled.length !== count || doubled[count - 1] !== 2 * (count - 1))
		throw new Error(`${doubled.length} of ${count} items came back doubled`);
	return tookMs;
}
