import { expect, test } from "vitest";
import { threads } from "../src/cases/threads.ts";
import { whatIsMissing } from "../src/needs.ts";

test("rows without Python's lock say what is missing, until such a Python is named", () => {
	const missing = (python: string | undefined) =>
		threads.rows.flatMap(({ name, needs }) => {
			const what = whatIsMissing(needs, {}, "linux", python, undefined);
			return what === undefined ? [] : [[name, what]];
		});
	const what = "no free-threaded Python was named (--free-threaded)";
	expect(missing(undefined)).toEqual([
		["ours, framed, free-threaded Python, callsPerWorker 1", what],
		["ours, framed, free-threaded Python, callsPerWorker 4", what],
	]);
	expect(missing("/opt/python3.14t")).toEqual([]);
});
