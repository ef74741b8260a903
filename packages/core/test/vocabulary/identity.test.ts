import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	compareIdentity,
	isSameProcess,
	type Observation,
	type ProcessIdentity,
} from "../../src/contract/identity.ts";

const self: ProcessIdentity = {
	machineId: "m",
	bootId: "b",
	pidNamespace: "n",
	pid: 1,
	startTime: "10",
};
const recorded: ProcessIdentity = { ...self, pid: 42, startTime: "99" };

const few = (...texts: string[]) => fc.constantFrom(...texts);
const identity: fc.Arbitrary<ProcessIdentity> = fc.record({
	machineId: few("m", "m2"),
	bootId: few("b", "b2"),
	pidNamespace: few("n", "n2"),
	pid: fc.constantFrom(1, 42),
	startTime: few("10", "99"),
});
const observation: fc.Arbitrary<Observation> = fc.oneof(
	identity,
	fc.constant("gone" as const),
	fc.constant("unknown" as const),
);

describe("comparing a record with what is seen", () => {
	test("the same pid with the same start time is the same process", () => {
		expect(compareIdentity(recorded, self, recorded)).toBe("same");
	});

	test("the same pid with another start time is a foreign process: the worker is gone", () => {
		expect(
			compareIdentity(recorded, self, { ...recorded, startTime: "100" }),
		).toBe("gone");
	});

	test("a free pid means gone, an unreadable one unknown", () => {
		expect(compareIdentity(recorded, self, "gone")).toBe("gone");
		expect(compareIdentity(recorded, self, "unknown")).toBe("unknown");
	});

	test("after a restart of the machine every process of the old boot is gone, whatever is seen at its pid", () => {
		fc.assert(
			fc.property(observation, (seen) => {
				expect(
					compareIdentity({ ...recorded, bootId: "earlier" }, self, seen),
				).toBe("gone");
			}),
		);
	});

	test("a record of another machine is unknown even when the pid is free here", () => {
		fc.assert(
			fc.property(observation, few("b", "earlier"), (seen, bootId) => {
				expect(
					compareIdentity(
						{ ...recorded, machineId: "elsewhere", bootId },
						self,
						seen,
					),
				).toBe("unknown");
			}),
		);
	});

	test("a record of another pid namespace is unknown even when the pid is free here", () => {
		fc.assert(
			fc.property(observation, (seen) => {
				expect(
					compareIdentity(
						{ ...recorded, pidNamespace: "container" },
						self,
						seen,
					),
				).toBe("unknown");
			}),
		);
	});

	test("never kill a foreign process: it is the same process only if every field is equal", () => {
		fc.assert(
			fc.property(identity, identity, observation, (record, looker, seen) => {
				if (compareIdentity(record, looker, seen) !== "same") return;
				expect(seen).toMatchObject({
					pid: record.pid,
					startTime: record.startTime,
				});
				expect([looker.machineId, looker.bootId, looker.pidNamespace]).toEqual([
					record.machineId,
					record.bootId,
					record.pidNamespace,
				]);
			}),
		);
	});
});

describe("two identities", () => {
	test("name the same process exactly when all five fields are equal", () => {
		fc.assert(
			fc.property(identity, identity, (a, b) => {
				const equal = (Object.keys(a) as (keyof ProcessIdentity)[]).every(
					(field) => a[field] === b[field],
				);
				expect(isSameProcess(a, b)).toBe(equal);
				expect(isSameProcess(a, { ...a })).toBe(true);
			}),
		);
	});
});
