import type { PoolStatistics } from "@snakepit/core";
import { expect, test } from "vitest";
import { paintLine, unpainted } from "../src/line.ts";
import { drawReport, type Findings, isAsPromised } from "../src/report.ts";

function findings(given: Partial<Findings> = {}): Findings {
	return {
		images: 4,
		once: 4,
		right: 3,
		durationMs: 2_000,
		replacement: {
			workerId: "digits-2",
			killedPid: 43,
			newPid: 77,
			durationMs: 1_234,
		},
		statistics: {
			restarts: 1,
			calls: { accepted: 5, succeeded: 5 },
			run: { p50Ms: 1.6, p99Ms: 21 },
		} as PoolStatistics,
		leftovers: [],
		lookedAt: 101,
		...given,
	};
}

const report = (given: Findings, columns = 100): string[] =>
	drawReport(given, columns).map((line) =>
		paintLine(line, unpainted).trimEnd(),
	);

const left = { pid: 99, command: "python worker", foundBy: "marker" } as const;

test("the report has what was promised, with its figures", () => {
	expect(report(findings())).toEqual([
		"answered     4 of 4 images exactly once",
		"accuracy     75.0 %  1 wrong; no classifier was trained on what it read",
		"throughput   2 images/s  2.0 s in all; one call 1.6 ms, p99 21 ms",
		"restarts     1  digits-2: pid 43 killed, pid 77 ready 1.2 s later",
		"left         0 processes  by group or marker, of 101 looked at",
	]);
});

test("in a narrow terminal details have a line of their own", () => {
	expect(report(findings(), 40).slice(-2)).toEqual([
		"left         0 processes",
		"             by group or marker, of 101 looked at",
	]);
});

test("leftovers are named", () => {
	const lines = report(findings({ leftovers: [left] }));
	expect(lines.at(-1)).toBe("  pid 99, found by its marker: python worker");
	expect(lines.at(-2)).toContain("1 process ");
});

test("the promise is kept if every image is answered exactly once and nothing is left", () => {
	expect(isAsPromised(findings())).toBe(true);
	expect(isAsPromised(findings({ leftovers: [left] }))).toBe(false);
	expect(isAsPromised(findings({ once: 3 }))).toBe(false);
	const failed = { accepted: 5, succeeded: 4 };
	const statistics = { ...findings().statistics, calls: failed } as never;
	expect(isAsPromised(findings({ statistics }))).toBe(false);
});
