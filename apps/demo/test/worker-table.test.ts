import { expect, test } from "vitest";
import { widthOf } from "../src/line.ts";
import type { WorkerRow } from "../src/worker-board.ts";
import { drawWorkerTable } from "../src/worker-table.ts";
import { text } from "./text.ts";

const rows: readonly WorkerRow[] = [
	{
		workerId: "digits-0",
		incarnation: "r-1",
		state: "ready",
		pid: 41,
		calls: 1_234,
		pulse: { kind: "answered", latencyMs: 0.42, atMs: 8_790 },
		lost: false,
		replaces: undefined,
	},
	{
		workerId: "digits-1",
		incarnation: "r-5",
		state: "starting",
		pid: 4_194_304,
		calls: 0,
		pulse: { kind: "none" },
		lost: false,
		replaces: 4_194_303,
	},
	{
		workerId: "digits-2",
		incarnation: "r-3",
		state: "ready",
		pid: undefined,
		calls: 0,
		pulse: { kind: "missed", inARow: 2 },
		lost: false,
		replaces: undefined,
	},
];

const drawn = (columns: number) =>
	drawWorkerTable(rows, 10_000, columns).map(text);

test("a terminal of 80 columns shows all columns", () => {
	expect(drawn(79)).toEqual([
		"worker      state         pid   calls  heartbeat",
		"digits-0    ready          41   1,234  0.4 ms, 1.2 s ago",
		"digits-1    starting  4194304       0  -                    replaces 4194303",
		"digits-2    ready           -       0  missed 2",
	]);
});

test("where there is less room the least important columns go", () => {
	expect(drawn(60)[2]).toBe("digits-1    starting  4194304       0  -");
	expect(drawn(40)[2]).toBe("digits-1    starting  4194304       0");
	expect(drawn(30)[2]).toBe("digits-1    starting  4194304");
	expect(drawn(22)[2]).toBe("digits-1    starting");
	expect(drawn(12)[2]).toBe("digits-1");
	expect(drawn(5)[2]).toBe("digit");
});

test("at no width is a line wider than the terminal", () => {
	for (let columns = 1; columns < 120; columns++)
		for (const line of drawWorkerTable(rows, 10_000, columns))
			expect(widthOf(line)).toBeLessThanOrEqual(columns);
});
