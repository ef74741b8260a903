import { describe, expect, test } from "vitest";
import { StartError } from "../../src/contract/errors.ts";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import { StderrReport } from "../../src/pool/observe/stderr-report.ts";

describe("the lines for one event", () => {
	const ref = { pool: "p", workerId: "p-0", incarnation: "r-1", wallMs: 0 };
	const exited = {
		...ref,
		type: "worker.exited",
		pid: 7,
		exit: { kind: "code", code: 0 },
		reason: "exited",
		killer: "none",
		callsLost: 0,
		lifetimeMs: 1_250,
		tail: [],
	} as const satisfies SnakepitEvent;

	const noGuard = {
		type: "protection.unavailable",
		wallMs: 0,
		protection: "guard",
		reason: "3 guards in a row were lost.",
	} as const satisfies SnakepitEvent;

	test("the loss of the guard is reported if there was one", () => {
		const report = new StderrReport();
		report.textOf({
			...{ type: "protection.ended", wallMs: 0, protection: "guard", pid: 9 },
			exit: { kind: "code", code: 67 },
			how: "lost",
			loss: "it failed",
		});
		expect(report.textOf(noGuard)).toBe(
			"[snakepit] The run has no guard now. 3 guards in a row were lost.",
		);
	});

	test.each<[string, SnakepitEvent, string | undefined]>([
		["an exit in order", exited, undefined],
		[
			"an exit in order that lost calls",
			{ ...exited, callsLost: 2 },
			"[snakepit] Worker p-0 (pid 7) exited with code 0, 1.3 s after it was ready, while it ran 2 calls.",
		],
		[
			"a worker that cannot be killed",
			{ ...exited, exit: undefined, reason: "stuck" },
			"[snakepit] Worker p-0 (pid 7) was sent SIGKILL and is still there, 1.3 s after it was ready.",
		],
		[
			"a preloaded parent that is lost",
			{
				type: "preload.ended",
				wallMs: 0,
				pool: "p",
				pid: 9,
				exit: { kind: "signal", signal: "SIGSEGV" },
				how: "lost",
			},
			"[snakepit] The preloaded parent of pool p (pid 9) was ended by SIGSEGV. Its workers end with it; the next worker start creates a new one.",
		],
		[
			"one that is released",
			{
				type: "preload.ended",
				wallMs: 0,
				pool: "p",
				pid: 9,
				exit: { kind: "code", code: 0 },
				how: "released",
			},
			undefined,
		],
		[
			"a companion that is lost",
			{
				type: "companion.ended",
				wallMs: 0,
				pool: "p",
				pid: 9,
				exit: { kind: "code", code: 1 },
				how: "lost",
			},
			"[snakepit] The companion of pool p (pid 9) exited with code 1. Its workers end with it, and Snakepit starts a new one.",
		],
		[
			"one that is released with its pool",
			{
				type: "companion.ended",
				wallMs: 0,
				pool: "p",
				pid: 9,
				exit: { kind: "code", code: 0 },
				how: "released",
			},
			undefined,
		],
		[
			"one that cannot be started anew",
			{
				type: "companion.unavailable",
				wallMs: 0,
				pool: "p",
				code: "SPAWN_FAILED",
				reason: "There is no such program.\nIts last lines:\n  | hello",
				failures: 1,
			},
			"[snakepit] Pool p has no companion: There is no such program. Calls wait while Snakepit tries again.",
		],
		[
			"a guard that is lost",
			{
				...{ type: "protection.ended", wallMs: 0, protection: "guard", pid: 9 },
				exit: { kind: "code", code: 68 },
				how: "lost",
				loss: "its middle process was ended by a signal",
			},
			"[snakepit] The guard (pid 9) was lost: its middle process was ended by a signal. Its workers end with it, and Snakepit starts new ones.",
		],
		["a guard that there never was", noGuard, undefined],
		[
			"a watchdog that is lost",
			{
				...{ type: "protection.ended", wallMs: 0, protection: "watchdog" },
				...{ pid: 9, exit: { kind: "code", code: 68 }, how: "lost" },
				loss: "it failed",
			},
			undefined,
		],
		[
			"a start that was withdrawn",
			{
				...{ ...ref, type: "worker.start_failed" },
				error: new StartError({
					...{ code: "START_WITHDRAWN", ran: "no" },
					message: "Worker p-0 is not needed any more.",
				}),
			},
			undefined,
		],
		[
			"a reload of one file",
			{
				...{ type: "pool.reloaded", wallMs: 0, pool: "p", durationMs: 12.4 },
				files: ["/project/tools.py"],
			},
			"[snakepit] Pool p replaced its workers after tools.py changed (12 ms).",
		],
		[
			"a reload that failed, of three files",
			{
				...{ type: "pool.reload_failed", wallMs: 0, pool: "p" },
				files: ["/project/tools.py", "/project/b.py", "c.py"],
				error: new Error("invalid syntax"),
			},
			"[snakepit] Pool p keeps its old workers: no new one started after tools.py and 2 more changed. Snakepit tries again when you save.",
		],
	])("%s", (_, event, text) => {
		expect(new StderrReport().textOf(event)).toBe(text);
	});
});
