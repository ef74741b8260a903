import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";

const program = join(import.meta.dirname, "holds-signals.ts");

/** Starts the program, and returns when it listens. */
async function listening(
	...args: string[]
): Promise<{ child: ChildProcess; lines: Interface; ended: Promise<unknown> }> {
	const child = spawn(process.execPath, [program, ...args], {
		stdio: ["pipe", "pipe", "inherit"],
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	const lines = createInterface({ input: child.stdout as Readable });
	const ended = once(child, "exit");
	expect(await once(lines, "line")).toEqual(["listens"]);
	return { child, lines, ended };
}

test("a signal that no pool heard ends the program at once", async () => {
	const { child, ended } = await listening();
	child.kill("SIGTERM");
	expect(await ended).toEqual([null, "SIGTERM"]);
});

test("a signal that is held ends the program when it is raised", async () => {
	const { child, lines, ended } = await listening("hold");
	const heard = once(lines, "line");
	child.kill("SIGTERM");
	expect(await heard).toEqual(["heard"]);
	expect(child.exitCode ?? child.signalCode).toBeNull();
	child.stdin?.end();
	expect(await ended).toEqual([null, "SIGTERM"]);
});

test("a second signal ends the program although the first is held", async () => {
	const { child, lines, ended } = await listening("hold");
	const heard = once(lines, "line");
	child.kill("SIGTERM");
	await heard;
	child.kill("SIGTERM");
	expect(await ended).toEqual([null, "SIGTERM"]);
});

test("without a signal the program ends as it does", async () => {
	const { child, ended } = await listening();
	child.stdin?.end();
	expect(await ended).toEqual([0, null]);
});
