import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { ReportedUsage } from "../src/relay-connection.ts";

test("the latest whole report counts, however its bytes arrive, and noise does not", () => {
	const reports = new PassThrough();
	const usage = new ReportedUsage(reports);
	const read = (text: string) => {
		reports.emit("data", text);
		return usage.latest;
	};
	expect(read('{"cpuMs":1,"resident')).toBeUndefined();
	expect(read('Bytes":2}\n')).toEqual({ cpuTimeMs: 1, residentBytes: 2 });
	expect(
		read('{"cpuMs":3,"residentBytes":4}\n{"cpuMs":5,"residentBytes":6}\n{'),
	).toEqual({ cpuTimeMs: 5, residentBytes: 6 });
	for (const noise of ["x\n", '{"cpuMs":"7"}\n', "null\n", "y".repeat(9_000)])
		expect(read(noise)).toEqual({ cpuTimeMs: 5, residentBytes: 6 });
	reports.destroy(new Error("it was reset"));
});
