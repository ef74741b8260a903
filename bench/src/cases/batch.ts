import type { Pool } from "@snakepit/core";
import { type Case, lower } from "../case.ts";
import { openPool, ourVariants } from "../contestants/ours.ts";

const ITEMS = 10_000;
const IN_FLIGHT = 16;

/** One way to have every item of a list doubled by a worker. */
interface Way {
	readonly name: string;
	double(pool: Pool, items: readonly number[]): Promise<readonly unknown[]>;
}

const oneByOne: Way = {
	name: "one call after the other",
	double: async (pool, items) => {
		const doubled: unknown[] = [];
		for (const item of items)
			doubled.push(await pool.execute("double", [item]));
		return doubled;
	},
};

const map: Way = {
	name: `pool.map, ${IN_FLIGHT} calls at once`,
	double: (pool, items) =>
		Array.fromAsync(
			pool.map(
				"double",
				items.map((item) => [item]),
				{ concurrency: IN_FLIGHT },
			),
		),
};

const inputStream: Way = {
	name: "one call, an input stream",
	double: (pool, items) =>
		Array.fromAsync(pool.stream("double_each", {}, { input: items })),
};

const oneList: Way = {
	name: "one call, one list",
	double: async (pool, items) =>
		(await pool.execute("double_all", [items])) as readonly unknown[],
};

const ways: readonly Way[] = [oneByOne, map, inputStream, oneList];

export const batch: Case = {
	name: "batch",
	title: `${ITEMS.toLocaleString("en")} small items`,
	about: `One worker doubles ${ITEMS.toLocaleString("en")} numbers: the time from the first call to the last result.`,
	figures: {
		total_ms: lower("all items", "ms"),
	},
	rows: ourVariants.flatMap((variant) =>
		ways.map((way) => ({
			name: rowName(variant.name, way),
			measure: async (setting) => {
				await using pool = await openPool(variant, setting, { size: 1 });
				await timed(pool, way, ITEMS / 10);
				return { total_ms: await timed(pool, way, ITEMS) };
			},
		})),
	),
};

function rowName(variant: string, way: Way): string {
	return `${variant}: ${way.name}`;
}

async function timed(pool: Pool, way: Way, count: number): Promise<number> {
	const items = Array.from({ length: count }, (_, index) => index);
	const begun = performance.now();
	const doubled = await way.double(pool, items);
	const tookMs = performance.now() - begun;
	if (doubled.length !== count || doubled[count - 1] !== 2 * (count - 1))
		throw new Error(`${doubled.length} of ${count} items came back doubled`);
	return tookMs;
}
