import type { RunHistory } from "@snakepit/core/inspect";
import { expect, test } from "vitest";
import {
	historyEntries,
	lasted,
	runEnd,
} from "../../src/wording/run-history.ts";

const run = (more: Readonly<Record<string, unknown>>): RunHistory =>
	({
		...{ state: "terminated", clean: false, endedBy: "reaper:abcdefg" },
		...{ killed: 2, cleanupMs: 12, workers: [], incidents: [], acts: [] },
		...more,
	}) as unknown as RunHistory;
const killedBy = (protection: string) => ({
	...{ type: "protection.process_killed", wallMs: 1, protection },
});
const worker = (
	incarnation: string,
	more: Readonly<Record<string, unknown>>,
) => ({
	...{ incarnation, workerId: "a", identity: { pid: 7 }, status: "ended" },
	...more,
});

test.each([
	[
		{},
		"died",
		/^Its program is gone and recorded no end, .* Cleaned up by the start of run abcdefg in 12 ms: 2 processes had to be ended\.$/,
	],
	[
		{
			endedBy: "command:77",
			incidents: [killedBy("guard"), killedBy("guard")],
		},
		"died",
		/Cleaned up by snakepit reap \(pid 77\) in 12 ms; a guard had ended 2 processes before\.$/,
	],
	[
		{ killed: 3, incidents: [killedBy("guard"), killedBy("watchdog")] },
		"died",
		/ in 12 ms: 1 process had to be ended; a guard had ended 1 process and a watchdog had ended 1 process before\.$/,
	],
	[
		// Of very many processes not each has an incident.
		{
			killed: 1,
			incidents: [
				killedBy("guard"),
				{ type: "protection.run_settled", protection: "guard", killed: 5_000 },
			],
		},
		"died",
		/ in 12 ms; a guard had ended 5.000 processes before\.$/,
	],
	[
		{
			endedBy: "watchdog:abcdefg",
			incidents: [killedBy("guard"), killedBy("watchdog")],
		},
		"died",
		/Cleaned up by its watchdog in 12 ms: 1 process had to be ended; a guard had ended 1 process before\.$/,
	],
	[{ endedBy: "command:77" }, "died", /Cleaned up by snakepit reap \(pid 77\)/],
	[{ endedBy: "watchdog:abcdefg" }, "died", /Cleaned up by its watchdog/],
	[{ state: "host_died" }, "died", /^Its program is gone/],
	[{ clean: true }, "closed in order", undefined],
	[{ state: "shutting_down" }, "shutting down", undefined],
] as const)("a run with %o %s", (more, word, detail) => {
	const end = runEnd(run(more));
	expect(end.word).toBe(word);
	if (detail === undefined) expect(end.detail).toBeUndefined();
	else expect(end.detail).toMatch(detail);
});

const failed = {
	...{ name: "RangeError", code: "E_CARD", message: "card 17\nrefused." },
	...{ at: "charge (/srv/shop/pay.ts:12:7)", wallMs: 0 },
	...{ origin: "uncaughtException", outcome: "ends" },
};
const goesOn = { ...failed, outcome: "goes_on" };
const signal = { name: "SIGTERM", wallMs: 0 };

test.each([
	[
		{ how: "crashed", code: 1, error: failed },
		"crashed",
		"An uncaught error: RangeError E_CARD: card 17 refused, at charge (pay.ts:12:7).",
	],
	[
		{ how: "exited", code: 3, at: "/srv/shop/main.ts:4:1" },
		"exited with code 3",
		"It called process.exit(3) at main.ts:4:1.",
	],
	[
		{ how: "exited", code: 5, at: undefined, error: goesOn },
		"exited with code 5",
		/^It called process\.exit\(5\)\. The last error that only its uncaughtException listener caught, at .*: RangeError/,
	],
	[
		{ how: "exited", code: 0, at: undefined, signal },
		"exited with code 0",
		/^It called process\.exit\(0\)\. It had got SIGTERM at /,
	],
	[{ how: "finished", code: 0 }, "ended in order", undefined],
	[
		{ how: "finished", code: 2 },
		"exited with code 2",
		"Nothing was left to do, and process.exitCode was 2.",
	],
	[{ how: "finished", code: 13 }, "exited with code 13", /had not settled\.$/],
	[{ how: "signal", signal }, "ended by SIGTERM", /, and closed its pools\.$/],
	[{ how: undefined, signal }, "closed in order", /^It had got SIGTERM at /],
	[
		{ how: "crashed", code: 1, error: failed, wallMs: 7_500 },
		"crashed",
		/ That was 2\.5 s after it had closed this run in order\.$/,
	],
] as const)("a run that was closed, and %j: %s", (known, word, detail) => {
	const program = { cwd: "/srv/shop" };
	const programEnd = { of: "program", wallMs: 5_100, ...known };
	const ended = { clean: true, endedAt: 5_000, program, programEnd };
	const end = runEnd(run(ended));
	expect(end.word).toBe(word);
	if (detail === undefined || typeof detail === "string")
		expect(end.detail).toBe(detail);
	else expect(end.detail).toMatch(detail);
});

test.each([
	[
		{ how: "out_of_memory", detail: "the kernel's log: Killed process 7" },
		"out of memory",
		/memory had run out \(the kernel's log: Killed process 7\)\. The next/,
	],
	[{ how: "machine_restarted" }, "died", /^Its machine was restarted\./],
	[{ how: "signal", signal }, "died", /^It got SIGTERM, and was killed before/],
	[{ how: "finished" }, "died", /and it was killed before it had closed/],
	[
		{ how: undefined, error: goesOn },
		"died",
		/process\.abort\(\)\. The last er/,
	],
	[{ how: undefined, of: "thread" }, "died", /^Its worker thread is gone/],
] as const)("a run that was not closed, and %j: %s", (known, word, detail) => {
	const programEnd = { of: "program", ...known };
	const end = runEnd(run({ state: "host_died", programEnd }));
	expect(end).toMatchObject({ word, tone: "bad" });
	expect(end.detail).toMatch(detail);
});

test("who closed its pool is said if that was somebody else, and a pool that could not be started always", () => {
	const act = { type: "pool.closing", pool: "p", by: "snakepit drain (pid 7)" };
	expect(runEnd(run({ clean: true, acts: [act] })).detail).toBe(
		"Pool p was closed by snakepit drain (pid 7).",
	);
	const own = { ...act, by: "program" };
	expect(runEnd(run({ clean: true, acts: [own] })).detail).toBeUndefined();
	const failure = { type: "pool.start_failed", pool: "p", error: failed };
	const incidents = [failure];
	expect(runEnd(run({ clean: true, incidents })).detail).toMatch(
		/^Pool p could not be started: RangeError E_CARD: card 17 refused, at /,
	);
});

const death = { type: "protection.host_death_detected", wallMs: 3_000 };
test.each([
	[{ clean: true, endedAt: 5_000 }, "4.0 s"],
	[{ state: "running" }, "8.0 s"],
	[{ endedAt: 5_000, incidents: [death] }, "2.0 s"],
	[{ state: "host_died", incidents: [death] }, "2.0 s"],
	[{ endedAt: 5_000 }, "at most 4.0 s"],
	[{ state: "host_died" }, "unknown"],
] as const)("a run with %j lasted %s", (more, words) => {
	expect(lasted(run({ startedAt: 1_000, ...more }), 9_000)).toBe(words);
});

test("ends of workers and incidents are one timeline, latest first", () => {
	const entries = historyEntries(
		run({
			workers: [
				worker("x-1", {
					endedAt: 10,
					end: {
						exit: { kind: "signal", signal: "SIGKILL" },
						...{ reason: "host_died", killer: "lifeline" },
						...{ tail: ["the last line"], lastCommand: "mean" },
					},
				}),
				worker("x-2", {
					endedAt: 30,
					end: {
						exit: { kind: "code", code: 0 },
						reason: "closed",
						killer: "none",
					},
				}),
				worker("x-3", { status: "active" }),
				worker("x-4", {
					endedAt: 5,
					end: { reason: "reaped", killer: "protection" },
				}),
			],
			incidents: [
				{ type: "heartbeat.hung", wallMs: 20, workerId: "a", silentMs: 9_000 },
			],
		}),
	);
	expect(entries.map(({ text, tone }) => [text, tone])).toEqual([
		["a (pid 7) has no recorded end", "active"],
		["a (pid 7) ended with status 0: closed", "quiet"],
		["a is hung: silent for 9.0 s", "bad"],
		[
			"a (pid 7) ended by SIGKILL: host died, ended by lifeline; its last call was mean",
			"bad",
		],
		["a (pid 7) ended: host died, ended by protection", "bad"],
	]);
	expect(entries.at(-2)?.lines).toEqual(["the last line"]);
});

test("a worker of a run that goes on is alive, or starts", () => {
	const workers = [
		worker("x-1", { status: "active" }),
		worker("x-2", { status: "reserved" }),
	];
	const entries = historyEntries(run({ state: "running", workers }));
	expect(entries.map(({ text }) => text)).toEqual([
		"a (pid 7) is alive",
		"a (pid 7) is starting",
	]);
});

test("a job that ended with status 0 is not an incident; a job that failed and a worker that left are", () => {
	const exited = (code: number) => ({
		...{ exit: { kind: "code", code }, reason: "exited", killer: "none" },
	});
	const workers = [
		worker("x-3", { pool: "(jobs)", endedAt: 3, end: exited(0) }),
		worker("x-2", { pool: "(jobs)", endedAt: 2, end: exited(1) }),
		worker("x-1", { pool: "python", endedAt: 1, end: exited(0) }),
	];
	expect(historyEntries(run({ workers })).map(({ tone }) => tone)).toEqual([
		"quiet",
		"bad",
		"bad",
	]);
});
