import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import {
	PsProcessTable,
	parseCpuTime,
	parsePsLine,
	parsePsThread,
	variablesIn,
} from "../../src/os/process-table.ts";

test("a line of ps is read, whatever the program's name is", () => {
	expect(
		parsePsLine(
			"  501   1   501 S+   Sat Nov  7 07:02:00 2026   0:01.50  20480 /Applications/My App (x).app/run me",
		),
	).toEqual({
		pid: 501,
		parentPid: 1,
		groupId: 501,
		startTime: "Sat Nov 7 07:02:00 2026",
		condition: "alive",
		cpuTimeMs: 1500,
		residentBytes: 20480 * 1024,
		name: "/Applications/My App (x).app/run me",
	});
	expect(
		parsePsLine("7 1 7 Z Sat Nov 21 07:02:00 2026 0:00.00 0 <defunct>")
			?.condition,
	).toBe("zombie");
	expect(parsePsLine("")).toBeUndefined();
	expect(parsePsLine("ps: illegal option")).toBeUndefined();
});

test("what a process used and what holds it is read, as of one thread", () => {
	const [used, id] = [1_500, "process"];
	expect(parsePsThread("S+     0:01.50\n")).toEqual({
		...{ id, cpuTimeMs: used, held: "no" },
	});
	expect(parsePsThread("U   0:01.50")?.held).toBe("uninterruptible");
	expect(parsePsThread("TX  0:01.50")?.held).toBe("traced");
	expect(parsePsThread("")).toBeUndefined();
});

test("processor time is read with minutes, hours and days", () => {
	expect(parseCpuTime("0:01.50")).toBe(1_500);
	expect(parseCpuTime("01:02:03")).toBe(3_723_000);
	expect(parseCpuTime("2-01:00:00")).toBe(176_400_000);
});

test("variables are found behind the arguments", () => {
	const text = "node x.js --a=b SNAKEPIT_RUN=abc:1 PATH=/bin =odd";
	expect(
		Object.fromEntries(variablesIn(text, ["SNAKEPIT_RUN", "HOME"])),
	).toEqual({ SNAKEPIT_RUN: "abc:1" });
});

const hasPs = spawnSync("ps", ["-o", "pid="]).status === 0;

test.skipIf(!hasPs)(
	"on a system with ps (skipped elsewhere) this process is found, and a free pid is not",
	() => {
		const table = new PsProcessTable();
		expect(table.entry(process.pid)).toMatchObject({
			pid: process.pid,
			parentPid: process.ppid,
			condition: "alive",
		});
		expect(table.entry(4_194_303)).toBe("gone");
		expect(table.entries().some(({ pid }) => pid === process.pid)).toBe(true);
		expect(table.threads(process.pid)).toHaveLength(1);
		expect(table.threads(4_194_303)).toEqual([]);
		expect(table.environment(4_194_303, ["PATH"]).size).toBe(0);
	},
);
