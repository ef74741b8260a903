import { describe, expect, test } from "vitest";
import type { EndReason } from "../../src/contract/process-registry.ts";
import {
	failuresAfter,
	type Slot,
	type SlotState,
	SlotTable,
	stateLeftBy,
} from "../../src/pool/workers/slot-table.ts";
import type { Worker } from "../../src/worker/worker.ts";

const [worker, successor] = [{}, {}] as unknown as [Worker, Worker];
const empty = { kind: "empty" } as const;
const starting = { kind: "starting", worker } as const;
const occupied = { kind: "occupied", worker, successor: undefined } as const;

function slotWith(state: SlotState): Slot {
	return { index: 0, state, failures: 0, previous: undefined };
}

function ending(reason: EndReason, readyMs = 0) {
	return { reason, readyMs } as Parameters<typeof stateLeftBy>[2];
}

describe("a slot whose worker is gone", () => {
	test("is empty, or of the successor that is starting", () => {
		const succeeded = { ...occupied, successor };
		const crashed = ending("exited");
		expect(stateLeftBy(slotWith(occupied), worker, crashed)).toEqual(empty);
		expect(stateLeftBy(slotWith(succeeded), worker, crashed)).toEqual({
			kind: "starting",
			worker: successor,
		});
	});

	test("is left to what started it, where the start failed", () => {
		const slot = slotWith(starting);
		expect(stateLeftBy(slot, worker, ending("start_failed"))).toBeUndefined();
		expect(stateLeftBy(slot, worker, ending("restarted"))).toEqual(empty);
	});

	test("stays as it is where another one has it", () => {
		for (const state of [empty, starting, occupied])
			expect(
				stateLeftBy(slotWith(state), successor, ending("exited")),
			).toBeUndefined();
	});
});

test("failures in a row are counted from the last long life, and not where the end was wanted", () => {
	expect(failuresAfter(2, ending("exited", 9_999))).toBe(3);
	expect(failuresAfter(2, ending("exited", 10_000))).toBe(1);
	for (const reason of ["recycled", "closed", "restarted"] as const)
		expect(failuresAfter(2, ending(reason))).toBe(0);
	for (const reason of ["companion_lost", "parent_lost"] as const)
		expect(failuresAfter(2, ending(reason))).toBe(0);
});

describe("a table of slots", () => {
	test("knows whether a slot is empty, whatever was put into it before", () => {
		const table = new SlotTable(2);
		const [first, second] = table.all;
		if (first === undefined || second === undefined)
			throw new Error("there are two");
		table.put(first, starting);
		table.put(first, occupied);
		expect(table.hasEmpty).toBe(true);
		table.put(second, { kind: "starting", worker: successor });
		expect(table.hasEmpty).toBe(false);
		expect(table.taken).toBe(2);
		expect(table.occupiedBy(worker)).toBe(first);
		expect(table.occupiedBy(successor)).toBeUndefined();
		table.put(first, empty);
		table.put(first, empty);
		expect(table.hasEmpty).toBe(true);
		table.put(first, starting);
		expect(table.hasEmpty).toBe(false);
	});

	test("that becomes smaller keeps a slot until its worker is gone", () => {
		const table = new SlotTable(3);
		const [, , last] = table.all;
		if (last === undefined) throw new Error("there are three");
		table.put(last, occupied);
		table.resize(1);
		expect(table.all).toHaveLength(3);
		expect(table.max).toBe(1);
		table.put(last, empty);
		expect(table.all).toHaveLength(1);
		expect(table.hasRoomOn(last)).toBe(false);
		expect(table.hasEmpty).toBe(true);
		table.resize(2);
		expect(table.all.map(({ index }) => index)).toEqual([0, 1]);
	});

	test("has no room on an empty slot when as many workers as are allowed have others", () => {
		const table = new SlotTable(2);
		const [first, second] = table.all;
		if (first === undefined || second === undefined)
			throw new Error("there are two");
		table.put(second, occupied);
		expect(table.hasRoomOn(first)).toBe(true);
		table.resize(1);
		expect(table.hasRoomOn(first)).toBe(false);
	});
});
