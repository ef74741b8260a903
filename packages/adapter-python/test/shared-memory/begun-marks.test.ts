import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BegunMarks } from "../../src/shared-memory/call-page.ts";
import { scratch } from "../support/fake-python.ts";

/** The page of a worker that noted these numbers. */
function marks(...numbers: readonly number[]): BegunMarks {
	const words = new BigUint64Array(512);
	for (const number of numbers) words[1 + (number % 511)] = BigInt(number);
	const path = join(scratch(), "calls");
	writeFileSync(path, words);
	return BegunMarks.open(path) as BegunMarks;
}

const calls = (...numbers: readonly number[]) =>
	numbers.map((number) => ({ number }));

test("calls whose number is not noted have not begun", () => {
	const [one, two, three, four] = calls(1, 2, 3, 4);
	const page = marks(4, 2);
	expect([...page.end([one, two, three, four] as never)]).toEqual([one, three]);
});

test("of a call whose word has a later one nothing is certain", () => {
	const [early, late] = calls(7, 7 + 2 * 511);
	expect(marks(7 + 511).end([early, late] as never)).toEqual(new Set([late]));
});

test("without a whole page nothing is certain", () => {
	const path = join(scratch(), "calls");
	writeFileSync(path, "short");
	const page = BegunMarks.open(path) as BegunMarks;
	expect(page.end(calls(1)).size).toBe(0);
	expect(page.end(calls(1)).size).toBe(0);
	expect(BegunMarks.open(path)).toBeUndefined();
});
