import fc from "fast-check";
import { expect, test } from "vitest";
import {
	type Arrival,
	ArrivalList,
} from "../../src/pool/placement/arrival-list.ts";

class Numbered implements Arrival {
	readonly number: number;
	before: this | undefined = undefined;
	after: this | undefined = undefined;

	constructor(number: number) {
		this.number = number;
	}
}

test("it has the items that a set would have, in the same order", () => {
	fc.assert(
		fc.property(
			fc.array(fc.record({ remove: fc.boolean(), number: fc.nat(5) })),
			(steps) => {
				const items = Array.from(
					{ length: 6 },
					(_, number) => new Numbered(number),
				);
				const list = new ArrivalList<Numbered>();
				const set = new Set<Numbered>();
				for (const { remove, number } of steps) {
					const item = items[number] as Numbered;
					if (remove) {
						list.remove(item);
						set.delete(item);
					} else if (!set.has(item)) {
						list.add(item);
						set.add(item);
					}
					expect([...list]).toEqual([...set]);
					expect(list.size).toBe(set.size);
				}
			},
		),
	);
});

test("what is removed keeps none of the others", () => {
	const items = [0, 1, 2].map((number) => new Numbered(number));
	const list = new ArrivalList<Numbered>();
	for (const item of items) list.add(item);
	for (const item of items) list.remove(item);
	expect(items.map(({ before, after }) => [before, after])).toEqual([
		[undefined, undefined],
		[undefined, undefined],
		[undefined, undefined],
	]);
});
