import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Starts a Python program of this folder; what it says on standard error is shown. */
export function startPython(
	python: string,
	program: string,
	args: readonly string[],
): ChildProcess {
	const path = fileURLToPath(new URL(`../python/${program}`, import.meta.url));
	return spawn(python, [path, ...args], {
		stdio: ["ignore", "pipe", "inherit"],
	});
}

/** Resolves when the program has printed its first line. */
export async function firstLine(child: ChildProcess): Promise<void> {
	if (child.stdout === null) throw new TypeError("its output is not piped");
	const lines = createInterface({ input: child.stdout });
	const ended = new AbortController();
	const gone = once(child, "exit", { signal: ended.signal }).then(() => {
		throw new Error("it ended before it was ready");
	});
	try {
		await Promise.race([once(lines, "line"), gone]);
	} finally {
		ended.abort();
		gone.catch(() => {});
	}
}

/** Ends a program of which nothing is wanted any more. */
export async function end(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exited = once(child, "exit");
	child.kill("SIGKILL");
	await exited;
}
