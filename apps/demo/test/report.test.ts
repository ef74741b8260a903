import type { PoolStatistics } from "@snakepit/core";
import { expect, test } from "vitest";
import { Answers } from "../src/answers.ts";
import { drawReport, type Findings, isAsPromised } from "../src/report.ts";
import { text } from "./text.ts";

function findings(given: Partial<Findings> = {}): Findings {
	const answers = new Answers(4);
	for (let index = 0; index < 4; index++) answers.add(index, index !== 2);
	return {
		answers,
		durationMs: 2_000,
		healing: {
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

const left = { pid: 99, command: "python worker", knownBy: "marker" } as const;

test("the report says what was promised, with its figures", () => {
	expect(drawReport(findings(), Number.POSITIVE_INFINITY).map(text)).toEqual([
		"answered     4 of 4 images exactly once",
		"accuracy     75.0 %  1 wrong; no classifier was trained on what it read",
		"throughput   2 images/s  2.0 s in all; one call 1.6 ms, p99 21 ms",
		"restarts     1  digits-2: pid 43 killed, pid 77 ready 1.2 s later",
		"left         0 processes  by group or marker, of 101 looked at",
	]);
});

test("in a narrow terminal details have a line of their own", () => {
	expect(drawReport(findings(), 40).map(text).slice(-2)).toEqual([
		"left         0 processes",
		"             by group or marker, of 101 looked at",
	]);
});

test("what is left is named", () => {
	const lines = drawReport(findings({ leftovers: [left] }), 80).map(text);
	expect(lines.at(-1)).toBe("  pid 99, known by its marker: python worker");
	expect(lines.at(-2)).toContain("1 process ");
});

test("the promise is kept when every image is answered exactly once and nothing is left", () => {
	expect(isAsPromised(findings())).toBe(true);
	expect(isAsPromised(findings({ leftovers: [left] }))).toBe(false);
	const tooOften = findings();
	tooOften.answers.add(0, true);
	expect(isAsPromised(tooOften)).toBe(false);
	expect(isAsPromised(findings({ answers: new Answers(4) }))).toBe(false);
	const failed = { accepted: 5, succeeded: 4 };
	const statistics = { ...findings().statistics, calls: failed };
	expect(isAsPromised(findings({ statistics: statistics as never }))).toBe(
		false,
	);
});
