import fc from "fast-check";
import { expect, test } from "vitest";
import { OpenCalls } from "../../src/conversation/conversation.ts";

test("it has the calls that a map would have, in the order in which they were made", () => {
	fc.assert(
		fc.property(
			fc.array(fc.oneof(fc.constant("add" as const), fc.nat(20))),
			(steps) => {
				const calls = new OpenCalls<string>();
				const map = new Map<number, string>();
				let last = 0;
				for (const step of steps) {
					if (step === "add") {
						calls.add(++last, `call ${last}`);
						map.set(last, `call ${last}`);
					} else {
						calls.delete(step);
						map.delete(step);
					}
					expect(calls.values()).toEqual([...map.values()]);
					expect(calls.size).toBe(map.size);
					expect(calls.get(last)).toBe(map.get(last));
				}
			},
		),
	);
});
