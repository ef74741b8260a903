import { describe, expect, test } from "vitest";
import { SnakepitError } from "../../src/contract/errors.ts";
import {
	nextRunState,
	RUN_TRANSITIONS,
	type RunState,
} from "../../src/contract/states.ts";

/** Every cell, written out: rows are states, `x` is an allowed step to the state of that column. */
const TABLE = `
                initializing cleaning_stale running shutting_down terminated
initializing    .            x              .       x             x
cleaning_stale  .            .              x       x             x
running         .            .              .       x             x
shutting_down   .            .              .       .             x
terminated      .            .              .       .             .
`;

const [header = "", ...rows] = TABLE.trim().split("\n");
const states = header.trim().split(/\s+/) as RunState[];
const cells = rows.flatMap((row) => {
	const [from, ...marks] = row.trim().split(/\s+/) as [RunState, ...string[]];
	return marks.map((mark, column) => ({
		from,
		to: states[column] as RunState,
		allowed: mark === "x",
	}));
});

describe("the life of a run", () => {
	test("the table has these states and no other", () => {
		expect(Object.keys(RUN_TRANSITIONS)).toEqual(states);
		expect(cells).toHaveLength(25);
	});

	test.each(cells.filter(({ allowed }) => allowed))(
		"changes from $from to $to",
		({ from, to }) => {
			expect(nextRunState(from, to)).toBe(to);
		},
	);

	test.each(cells.filter(({ allowed }) => !allowed))(
		"never changes from $from to $to",
		({ from, to }) => {
			expect(() => nextRunState(from, to)).toThrow(SnakepitError);
			expect(() => nextRunState(from, to)).toThrow(`from ${from} to ${to}`);
		},
	);

	test("from every state there is a way to the end, and no way leads back", () => {
		const reachable = (from: RunState): Set<RunState> =>
			new Set(RUN_TRANSITIONS[from].flatMap((to) => [to, ...reachable(to)]));
		for (const state of states.slice(0, -1))
			expect(reachable(state)).toContain("terminated");
		for (const state of states) expect(reachable(state)).not.toContain(state);
	});
});
