import fc from "fast-check";
import { expect, test } from "vitest";
import { Gate } from "../../src/deadline.ts";

/** Runs every microtask that is due. */
const settled = (): Promise<void> =>
	new Promise((resolve) => setImmediate(resolve));

test("no more than allowed are inside, and all come in, in the order they came", async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.integer({ min: 1, max: 4 }),
			fc.array(fc.nat(), { maxLength: 20 }),
			async (concurrency, choices) => {
				const gate = new Gate(concurrency);
				const entered: number[] = [];
				const inside: (() => void)[] = [];
				for (const comer of choices.keys()) {
					void gate.enter().then((leave) => {
						entered.push(comer);
						inside.push(leave);
					});
				}
				await settled();
				for (const [left, choice] of choices.entries()) {
					expect(inside).toHaveLength(
						Math.min(concurrency, choices.length - left),
					);
					inside.splice(choice % inside.length, 1)[0]?.();
					await settled();
				}
				expect(entered).toEqual([...choices.keys()]);
			},
		),
	);
});

test("a start that leaves twice makes room once", async () => {
	const gate = new Gate(1);
	const leave = await gate.enter();
	leave();
	leave();
	await gate.enter();
	let third = "waits";
	void gate.enter().then(() => {
		third = "entered";
	});
	await settled();
	expect(third).toBe("waits");
});
