import { expect, test } from "vitest";
import { rounds } from "../../../../scripts/test-effort.ts";
import { SeededRandom } from "../../../core/src/testing/virtual-pool.ts";
import { Batches, KINDS, MAX } from "../support/batches.ts";

const ROUNDS = rounds(100, 10);

/** What became of a call. */
interface Outcome {
	readonly item: string;
	/** "not run": its error says that it did not begin; "left": that it may have begun. */
	readonly is: "answered" | "left" | "not run";
}

/** Makes a call, and leaves it after some turns of the event loop, or at 0 never. */
async function leftAfter(
	batches: Batches,
	item: string,
	turns: number,
): Promise<Outcome> {
	const stop = new AbortController();
	const answer = batches.call(item, { signal: stop.signal });
	const leave = async (): Promise<void> => {
		for (let turn = 0; turn < turns; turn++)
			await new Promise((resolve) => setImmediate(resolve));
		if (turns > 0) stop.abort();
	};
	const [[settled]] = await Promise.all([
		Promise.allSettled([answer]),
		leave(),
	]);
	if (settled.status === "fulfilled") {
		expect(settled.value).toBe(`${item}!`);
		return { item, is: "answered" };
	}
	expect(settled.reason).toMatchObject({ code: "CALL_ABORTED" });
	return { item, is: settled.reason.ran === "no" ? "not run" : "left" };
}

test.each(KINDS)(
	"whoever leaves at any moment: each call of %s settles once and runs at most once, and the worker is kept",
	async (tool) => {
		const batches = await Batches.open(tool);
		const { incarnation } = batches.pool.workers()[0] ?? {};
		const chance = new SeededRandom(11);
		const caller = async (name: number): Promise<Outcome[]> => {
			const outcomes: Outcome[] = [];
			for (let round = 0; round < ROUNDS; round++)
				outcomes.push(
					await leftAfter(batches, `${name}-${round}`, chance.below(8)),
				);
			return outcomes;
		};
		const callers = Array.from({ length: 6 * MAX }, (_, n) => caller(n));
		const outcomes = (await Promise.all(callers)).flat();
		expect(await batches.call("last")).toBe("last!");
		const ran = (await batches.begunUpTo("last")).flat();
		const items = (which: Outcome["is"]) =>
			outcomes.flatMap(({ is, item }) => (is === which ? [item] : []));
		expect(new Set(ran).size).toBe(ran.length);
		expect(ran).toEqual(expect.arrayContaining(items("answered")));
		const notRun = new Set(items("not run"));
		expect(ran.filter((item) => notRun.has(item))).toEqual([]);
		for (const which of ["answered", "left", "not run"] as const)
			expect(items(which).length, which).toBeGreaterThan(0);
		const ends = batches.events.filter(({ type }) => type === "call.settled");
		expect(ends).toHaveLength(outcomes.length + 1);
		expect(batches.pool.workers()[0]?.incarnation).toBe(incarnation);
	},
);
