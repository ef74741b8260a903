import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removePlace } from "../../../scripts/remove-place.ts";
import type { SettledCall } from "../../programs/calls-ahead.ts";
import { contradictions, readNotes } from "../../src/harness/call-notes.ts";

const call = (
	number: number,
	ending: string,
	ran?: "no" | "maybe",
): SettledCall => ({ number, ending, ran, prefetched: 0, recalled: 0 });

test.each<[string, readonly number[], readonly SettledCall[], string[]]>([
	[
		"calls that ended as they may",
		[1, 2, 10, 10, 10],
		[
			call(1, "ok"),
			call(2, "WORKER_EXITED", "maybe"),
			call(3, "WORKER_EXITED", "maybe"),
			call(4, "CALL_ABORTED", "no"),
			call(10, "ok"),
		],
		[],
	],
	[
		"a call that began although it ended as not run",
		[4],
		[call(4, "CALL_ABORTED", "no")],
		["Call 4 ended as CALL_ABORTED, not run, and began."],
	],
	[
		"a call that began twice without a retry",
		[1, 1],
		[call(1, "ok")],
		["Call 1 began 2 times."],
	],
	[
		"a call that began more often than its retries allow",
		[10, 10, 10, 10],
		[],
		["Call 10 began 4 times."],
	],
	[
		"a call that succeeded and never began",
		[],
		[call(1, "ok")],
		["Call 1 succeeded and never began."],
	],
	[
		"a call that ended twice",
		[1],
		[call(1, "ok"), call(1, "CALL_ABORTED", "maybe")],
		["Call 1 ended 2 times."],
	],
])("%s", (_what, began, settled, wrong) => {
	expect(contradictions({ began, settled })).toEqual(wrong);
});

test("half a line of a host that was killed is not read", () => {
	const directory = mkdtempSync(join(tmpdir(), "notes-"));
	onTestFinished(() => removePlace(directory));
	writeFileSync(join(directory, "began"), "1\n2\n");
	writeFileSync(
		join(directory, "settled"),
		`${JSON.stringify(call(1, "ok"))}\n{"number":2`,
	);
	expect(readNotes(directory)).toEqual({
		began: [1, 2],
		settled: [call(1, "ok")],
		struck: [],
	});
});
