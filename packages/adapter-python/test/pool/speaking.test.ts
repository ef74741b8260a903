import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { PYTHON, toolsFile } from "../support/pythons.ts";

const program = fileURLToPath(
	new URL("../programs/speaking-pool.ts", import.meta.url),
);

test("what Python would show is on the standard error of a program that sets nothing up, once", async () => {
	const { stdout, stderr } = await promisify(execFile)(
		process.execPath,
		[
			"--conditions=snakepit-source",
			program,
			toolsFile("noisy.py"),
			PYTHON,
			temporaryDirectory(),
		],
		{ timeout: 50_000 },
	);
	const said = stderr.split("\n");
	const times = (line: RegExp) => said.filter((each) => line.test(each)).length;

	// A progress bar: its last state, and with the call that drew it.
	const { lines, drawing } = JSON.parse(stdout);
	expect(lines.at(-1)).toEqual(["  2000 of 2000", drawing]);
	expect(times(/^\[p-0\] +2000 of 2000$/)).toBe(1);
	// One each 5 s of a machine that may be slow.
	expect(lines.length).toBeLessThan(10);

	// Records, by two workers.
	expect(times(/^\[p-0\] WARNING shop \(call \S+\): no price for tea$/)).toBe(
		2,
	);
	expect(times(/^\[p-0\] ERROR shop \(call \S+\): it broke$/)).toBe(2);
	expect(times(/^\[p-0\] Traceback \(most recent call last\):$/)).toBe(3);
	expect(times(/^\[p-0\] KeyError: 'tea'$/)).toBe(2);
	expect(stderr).not.toContain("looking for tea");

	// Those that the tools show themselves.
	expect(times(/^\[p-0\] the tools say: no price for ink$/)).toBe(1);
	expect(times(/no price for ink/)).toBe(1);

	// The end of the first worker, and what the second says while it leaves.
	expect(
		times(
			/^\[snakepit\] Worker p-0 \(pid \d+\) was ended by SIGSEGV, [\d.]+ s after it was ready, while it ran a call\.$/,
		),
	).toBe(1);
	expect(times(/^\[snakepit\]/)).toBe(1);
	expect(times(/^\[p-0\] ERROR \S+: a shut-down hook failed$/)).toBe(1);
	expect(times(/^\[p-0\] RuntimeError: the door is stuck$/)).toBe(1);
}, 60_000);
