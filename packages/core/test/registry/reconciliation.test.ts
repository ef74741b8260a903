import { expect, test } from "vitest";
import type {
	Observation,
	ProcessIdentity,
} from "../../src/contract/identity.ts";
import { decideVanished, Reconciliation } from "../../src/registry/history.ts";
import { MemoryRegistry } from "../../src/testing/memory-registry.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { SeededRandom } from "../../src/testing/virtual-pool.ts";
import { seenAs } from "../cleanup/bench.ts";
import { deadOwner, workerRow } from "../cleanup/crafted-run.ts";
import { machine } from "../cleanup/hosts.ts";

const { self } = machine;

function look(
	identity: ProcessIdentity | undefined,
	observed: Observation,
	before: readonly string[] = [],
): object {
	const rows = [workerRow("abcdefg", { incarnation: "w", identity })];
	const step = decideVanished(rows, new Set(before), self, () => observed);
	return { vanished: step.vanished, missing: [...step.missing] };
}

const NOTHING = { vanished: [], missing: [] };

test("a process that is gone at two looks in a row has vanished: at the first its exit may only not be reported yet", () => {
	expect(look(deadOwner(), "gone")).toEqual({ vanished: [], missing: ["w"] });
	expect(look(deadOwner(), "gone", ["w"])).toEqual({
		vanished: ["w"],
		missing: [],
	});
	const other = { ...deadOwner(), startTime: "2" };
	expect(look(deadOwner(), other, ["w"])).toEqual({
		vanished: ["w"],
		missing: [],
	});
});

test("what lives, what cannot be read, and what is only reserved has not vanished", () => {
	expect(look(deadOwner(), deadOwner(), ["w"])).toEqual(NOTHING);
	expect(look(deadOwner(), "unknown", ["w"])).toEqual(NOTHING);
	expect(look(undefined, "gone", ["w"])).toEqual(NOTHING);
});

test("what has vanished is recorded, and the run continues", () => {
	const registry = new MemoryRegistry({
		clock: new VirtualClock(),
		random: new SeededRandom(1),
		owner: self,
	});
	for (const identity of [deadOwner(), self]) {
		const incarnation = registry.nextIncarnation();
		registry.reserve({
			incarnation,
			workerId: "w-0",
			pool: "w",
			fingerprint: "x",
			files: [],
		});
		registry.activate(incarnation, identity, identity.pid);
	}
	const reconciliation = new Reconciliation(registry, seenAs({}));
	const first = registry.list()[0]?.incarnation ?? "";
	expect(reconciliation.look()).toEqual([]);
	expect(reconciliation.look()).toEqual([first]);
	expect(reconciliation.look()).toEqual([]);
	expect(registry.lookup(first)?.end).toEqual({
		exit: undefined,
		reason: "vanished",
		killer: "unknown",
	});
	expect(registry.living().length).toBe(1);
});
