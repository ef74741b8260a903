import { expect, test } from "vitest";
import type { WorkerStatus } from "../../src/contract/process-registry.ts";
import { ENDED_KEPT, WorkerRows } from "../../src/registry/workers.ts";
import { workerRow } from "../cleanup/crafted-run.ts";

function put(rows: WorkerRows, n: number, status: WorkerStatus): string {
	const incarnation = `abcdefg-${n}`;
	rows.put(workerRow("abcdefg", { incarnation, status }));
	return incarnation;
}

test("however many workers end, the living and the last ones are kept, and all are counted", () => {
	const rows = new WorkerRows();
	const oldest = put(rows, 0, "active");
	for (let n = 1; n <= ENDED_KEPT * 5; n++) {
		put(rows, n, "reserved");
		put(rows, n, "ended");
		rows.written();
	}
	const kept = rows.kept();
	expect(kept.length).toBe(ENDED_KEPT + 1);
	expect(kept[0]?.incarnation).toBe(oldest);
	expect(kept[1]?.incarnation).toBe(`abcdefg-${ENDED_KEPT * 4 + 1}`);
	expect(rows.get("abcdefg-1")).toBeUndefined();
	expect(rows.forgotten).toBe(ENDED_KEPT * 4);
	expect(
		(["reserved", "active", "ended"] as const).map((s) => rows.count(s)),
	).toEqual([0, 1, ENDED_KEPT * 5]);
});

test("what is not written is not forgotten; rows are written with the place of their reservation", () => {
	const rows = new WorkerRows();
	for (let n = 0; n < ENDED_KEPT * 2; n++) put(rows, n, "ended");
	expect(rows.kept().length).toBe(ENDED_KEPT * 2);
	expect(rows.unwrittenCount).toBe(ENDED_KEPT * 2);
	rows.written();
	expect([rows.kept().length, rows.unwrittenCount]).toEqual([ENDED_KEPT, 0]);
	put(rows, ENDED_KEPT * 2, "reserved");
	put(rows, ENDED_KEPT * 2 - 1, "ended");
	expect(rows.unwritten().map(({ ordinal }) => ordinal)).toEqual([
		ENDED_KEPT * 2,
		ENDED_KEPT * 2 - 1,
	]);
});

test("a reservation that is taken back was never there", () => {
	const rows = new WorkerRows();
	rows.remove(put(rows, 1, "reserved"));
	expect([rows.kept(), rows.unwritten(), rows.count("reserved")]).toEqual([
		[],
		[],
		0,
	]);
});
