import { expect, test } from "vitest";
import { runProgram } from "../../src/interpreter/run-program.ts";
import { failureOf } from "../support/calls.ts";

const setting = {
	env: { PATH: process.env["PATH"] },
	cwd: process.cwd(),
	timeoutMs: 20_000,
	signal: new AbortController().signal,
};
const shell = (text: string, given: Partial<typeof setting> = {}) =>
	runProgram("/bin/sh", ["-c", text], { ...setting, ...given });

test("the output of a program and how it ended are returned", async () => {
	expect(await shell("echo one; echo two >&2; exit 3")).toEqual({
		kind: "ended",
		code: 3,
		stdout: "one\n",
		stderr: "two\n",
		problem: "exit code 3: two",
	});
	expect(await shell("kill -9 $$")).toMatchObject({
		problem: "ended by SIGKILL",
	});
	expect(await runProgram("/nowhere/program", [], setting)).toEqual({
		kind: "missing",
		problem: "/nowhere/program: ENOENT",
	});
});

test("a program that takes too long is ended, and says so", async () => {
	expect(await shell("exec sleep 600", { timeoutMs: 100 })).toMatchObject({
		kind: "ended",
		code: undefined,
		problem: "not done within 100 ms",
	});
});

test("an abort ends a program", async () => {
	const abort = new AbortController();
	const failure = failureOf(shell("exec sleep 600", { signal: abort.signal }));
	const reason = new Error("time limit");
	abort.abort(reason);
	expect(await failure).toBe(reason);
});

/** Runs a shell that leaves a child with its output, and ends that child with the test. */
async function leavesChild(then: string, given: Partial<typeof setting> = {}) {
	const done = await shell(`sleep 600 & echo $!; ${then}`, given);
	if (done.kind !== "ended") throw new Error(done.problem);
	const child = Number(done.stdout);
	process.kill(child, "SIGKILL");
	return { child, done };
}

test("a program is over when it has ended, though a child of it keeps its output open", async () => {
	const { child, done } = await leavesChild("exit 0");
	expect(done).toMatchObject({ code: 0, stdout: `${child}\n`, problem: "" });
});

test("a program that takes too long is given up, though a child of it keeps its output open", async () => {
	const { done } = await leavesChild("wait", { timeoutMs: 500 });
	expect(done).toMatchObject({ problem: "not done within 500 ms" });
});
