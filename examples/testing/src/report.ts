import type { Pool } from "@snakepit/core";

/** The tools of tools.py; `snakepit types` writes this. */
export type Tools = {
	mean(args: { numbers: number[] }): number;
	in_currency(args: { amount: number; currency: string }): number;
};

/** A line about some numbers; waits half a second for their mean at most. */
export async function report(
	pool: Pool<Tools>,
	numbers: number[],
): Promise<string> {
	const mean = await pool.execute("mean", { numbers }, { timeoutMs: 500 });
	return `on average ${mean}`;
}
