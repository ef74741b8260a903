import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { moment } from "../../src/command/flags.ts";
import { type CallOfRun, callLines } from "../../src/runs/calls-command.ts";
import { snakepit } from "../run/started.ts";

const DEADLINE_MS = 120_000;

test(
	"calls --failed lists what failed in a program that ended, with its input and how many failed alike",
	async () => {
		const dataDir = temporaryDirectory();
		const host = spawn(
			process.execPath,
			[
				"--conditions=snakepit-source",
				join(import.meta.dirname, "failing-host.ts"),
				dataDir,
			],
			{ stdio: ["pipe", "pipe", "inherit"] },
		);
		onTestFinished(() => void host.kill("SIGKILL"));
		await once(host.stdout, "data");
		const end = once(host, "exit");
		host.stdin.end();
		await end;

		const list = (...more: string[]) =>
			snakepit(["calls", "--failed", "--data-dir", dataDir, ...more]);
		const { status, stdout, stderr } = list();
		expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
		expect(stdout).toMatch(
			/^8 calls failed: 7 print TOOL_FAILED, 1 wait CALL_TIMEOUT\.\nTIME +RUN +CALL +COMMAND +CODE +WORKER +TRIES +WAITED +RAN\n/,
		);
		expect(stdout).toMatch(
			/ printer\/c8 +wait +CALL_TIMEOUT +printer-0 +1 +\d.* m?s +\d.* m?s\n/,
		);
		expect(stdout).toMatch(
			/ printer\/c1 +print +TOOL_FAILED .*\n {4}"print" failed on worker printer-0: no paper\n {4}arguments: {"copy":0}\n/,
		);
		expect(list("--lines").stdout).toMatch(
			/: no paper\n {4}tray 2\n {4}arguments: {"copy":0}\n {4}Error: no paper\n {4}tray 2\n {4} +at /,
		);

		const json: readonly CallOfRun[] = JSON.parse(
			list("--json", "--command", "print").stdout,
		);
		expect(json.reduce((sum, { alike }) => sum + 1 + alike, 0)).toBe(7);
		expect(json[0]).toMatchObject({
			...{ program: "failing-host.ts", pool: "printer", command: "print" },
			...{ code: "TOOL_FAILED", attempts: 1, workerId: "printer-0" },
			traceback: expect.stringContaining("failing-host.ts"),
		});
		expect(list("--since", "1h", "--code", "CALL_TIMEOUT").stdout).toMatch(
			/^1 call failed: 1 wait CALL_TIMEOUT\.\nTIME.*\n.* wait .*\n/,
		);
		expect(list("--since", "2100-01-01").stdout).toMatch(
			/^\d+ failed calls are recorded, and none of them is as asked for\.\n$/,
		);
		expect(list("--run", "nope")).toMatchObject({
			status: 3,
			stderr: expect.stringContaining('No run "nope" is recorded'),
		});
		expect(list("--since", "soon")).toMatchObject({
			status: 2,
			stderr: expect.stringContaining("Give how long ago"),
		});
		expect(snakepit(["calls"])).toMatchObject({
			status: 2,
			stderr: expect.stringContaining("calls --failed"),
		});
	},
	DEADLINE_MS,
);

test("a moment is so long ago, a day or a time", () => {
	const beforeMs = Date.now();
	expect(moment("2h")).toBeGreaterThanOrEqual(beforeMs - 7_200_000);
	expect(moment("2h")).toBeLessThanOrEqual(Date.now() - 7_200_000);
	expect(moment("2026-05-01")).toBe(new Date(2026, 4, 1).getTime());
	expect(moment("2026-05-01T13:30Z")).toBe(Date.UTC(2026, 4, 1, 13, 30));
	for (const text of ["", "2", "2w", "-1h", "tomorrow"])
		expect(() => moment(text)).toThrow(/how long ago/);
});

test("the newest 50 calls are shown, how many more there are, and how many failed alike", () => {
	const call: CallOfRun = {
		...{ runId: "abcdefg", program: "shop.js", wallMs: 0, pool: "p\u001b[2J" },
		...{ callId: "c1", outcome: "failed", code: "TOOL_FAILED", ran: "maybe" },
		...{ attempts: 0, waitedMs: 1, ranMs: 0, totalMs: 1, alike: 0 },
	};
	const AGAIN = "snakepit calls --failed --pool p";
	const many = Array.from({ length: 52 }, (_, args) => ({ ...call, args }));
	const lines = callLines(many, false, AGAIN, 0, "folded");
	expect(lines).toHaveLength(103);
	expect(lines[0]).toBe("52 calls failed: 52 TOOL_FAILED.");
	expect(lines.at(-1)).toBe(
		"2 older calls are not shown. All of them: snakepit calls --failed --pool p --all",
	);
	expect(callLines(many, false, AGAIN, 0, "every")).toHaveLength(106);
	expect(lines.join("\n")).not.toContain("\u001b");
	expect(
		callLines([{ ...call, alike: 4_990 }], false, AGAIN, 0, "folded").at(-1),
	).toBe("    4,990 more like it");
	const kinds = "abcdefghij".split("").map((command) => ({ ...call, command }));
	expect(callLines(kinds, false, AGAIN, 0, "folded")[0]).toMatch(
		/^10 calls failed: 1 a TOOL_FAILED, .*, 1 h TOOL_FAILED, and 2 more kinds\.$/,
	);
});

test("in a narrow terminal a call has two lines: its code is whole, a long command is shortened inside", () => {
	const call: CallOfRun = {
		...{ runId: "abcdefg", program: "shop.js", wallMs: 0, pool: "printer" },
		...{ callId: "c12", outcome: "failed", code: "TOOL_FAILED", ran: "maybe" },
		...{ attempts: 2, waitedMs: 1, ranMs: 0, totalMs: 1, alike: 0 },
		...{ command: `print_${"very_".repeat(10)}long`, workerId: "printer-0" },
		message: `no paper in ${"tray 7, ".repeat(20)}at all`,
		args: { path: "/srv/a.png" },
	};
	const lines = callLines(
		[call],
		false,
		"snakepit calls --failed",
		80,
		"folded",
	);
	for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
	const joined = lines.map((line) => line.trim()).join(" ");
	expect(joined).toMatch(
		/ printer\/c12 +print_very\S+…\S+long +TOOL_FAILED run abcdefg, on printer-0, 2 tries, waited 1\.0 ms, ran 0 ms no paper in tray 7,.* at all arguments: {"path":"\/srv\/a\.png"}$/,
	);
});

test("calls that failed alike are one row, that of the last, and the sum names programs or pools where there are several", () => {
	const at = new Date(2026, 10, 29, 8, 36, 40).getTime();
	const crash = (number: number, more: Partial<CallOfRun> = {}): CallOfRun => ({
		...{ runId: "abcdefg", program: "shop.js", pool: "images" },
		...{ callId: `c${number}`, outcome: "failed", command: "resize" },
		...{ wallMs: at + number * 7_000, workerId: `images-${number % 2}` },
		...{ code: "WORKER_EXITED", ran: "maybe", alike: 0, attempts: 1 },
		...{ waitedMs: 1, ranMs: 0, totalMs: 1, args: { path: "a.png" } },
		message: `Worker images-${number % 2} (pid ${100 + number}) was ended by SIGSEGV after ${number} ms.\nIts last lines:\n  | page ${number}\n  | paper jam`,
		...more,
	});
	const crashes = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((each) =>
		crash(each),
	);
	const shown = (calls: readonly CallOfRun[], rows: "folded" | "every") =>
		callLines(calls, false, "snakepit calls --failed", 0, rows);
	const lines = shown(crashes, "folded");
	expect(lines[0]).toBe("12 calls failed: 12 resize WORKER_EXITED.");
	expect(lines.slice(2)).toEqual([
		expect.stringMatching(/ 08:37:57 .* images\/c11 .* images-1 /),
		"    (12 times since 08:36:40)",
		"    Worker images-1 (pid 111) was ended by SIGSEGV after 11 ms.",
		'    arguments: {"path":"a.png"}',
		"Whole messages and tracebacks: snakepit calls --failed --lines",
		"Each in a row of its own: snakepit calls --failed --all",
	]);
	expect(shown(crashes, "every")).toHaveLength(2 + 3 * 12 + 1);
	for (const other of [
		{ args: { path: "b.png" } },
		{ message: "no paper" },
		{ command: "crop" },
		{ runId: "bcdefgh" },
		{ pool: "mails" },
	])
		expect(
			shown([crash(2), crash(1, other)], "folded").join("\n"),
		).not.toContain("times since");
	expect(shown([crash(2, { alike: 3 }), crash(1)], "folded")[3]).toBe(
		"    (5 times since 08:36:47)",
	);
	const sum = (more: Partial<CallOfRun>) =>
		shown([crash(2), crash(1), crash(0, more)], "folded")[0];
	expect(sum({ program: "mail.js" })).toBe(
		"3 calls failed: 2 resize WORKER_EXITED in shop.js, 1 resize WORKER_EXITED in mail.js.",
	);
	expect(sum({ pool: "mails" })).toBe(
		"3 calls failed: 2 resize WORKER_EXITED in pool images, 1 resize WORKER_EXITED in pool mails.",
	);
});
