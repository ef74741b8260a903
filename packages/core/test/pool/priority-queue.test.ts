import fc from "fast-check";
import { expect, test } from "vitest";
import {
	isBefore,
	NOWHERE,
	PriorityQueue,
	type Waiting,
} from "../../src/pool/priority-queue.ts";

test("things leave by priority, then in the order they came, whatever is removed in between", () => {
	fc.assert(
		fc.property(
			fc.array(
				fc.oneof(
					fc.record({ add: fc.integer({ min: -3, max: 3 }) }),
					fc.record({ remove: fc.nat() }),
					fc.constant("take" as const),
				),
			),
			(steps) => {
				const queue = new PriorityQueue<Waiting>();
				let model: Waiting[] = [];
				let sequence = 0;
				for (const step of steps) {
					if (step === "take") {
						const first = [...model].sort((a, b) =>
							isBefore(a, b) ? -1 : 1,
						)[0];
						expect(queue.take()).toBe(first);
						model = model.filter((item) => item !== first);
					} else if ("add" in step) {
						const item = {
							priority: step.add,
							sequence: sequence++,
							place: NOWHERE,
						};
						queue.add(item);
						model.push(item);
					} else {
						const item = model[step.remove % Math.max(1, model.length)];
						if (item === undefined) continue;
						expect(queue.remove(item)).toBe(true);
						expect(queue.remove(item)).toBe(false);
						model = model.filter((each) => each !== item);
					}
					expect(queue.size).toBe(model.length);
					expect(new Set(queue)).toEqual(new Set(model));
				}
			},
		),
	);
});
