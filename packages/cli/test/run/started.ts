import {
	type ChildProcess,
	type SpawnSyncOptions,
	spawn,
	spawnSync,
} from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { Readable } from "node:stream";
import { onTestFinished } from "vitest";

/** `snakepit` as it is installed, for what it does without Node. */
export const SNAKEPIT: readonly [string] = [
	join(import.meta.dirname, "../../bin/snakepit"),
];

/** `snakepit` where Node does it, from its sources. */
export const SNAKEPIT_IN_NODE: readonly [string, ...string[]] = [
	process.execPath,
	"--conditions=snakepit-source",
	join(import.meta.dirname, "../../src/command/snakepit.ts"),
];

/** How a command ended, and what it printed. */
export interface Ended {
	readonly status: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

/** Runs `snakepit` to its end, from its sources. Nothing else in this process goes on meanwhile. */
export function snakepit(
	args: readonly string[],
	options: SpawnSyncOptions = {},
): Ended {
	const [program, ...before] = SNAKEPIT_IN_NODE;
	const { status, stdout, stderr } = spawnSync(program, [...before, ...args], {
		...options,
		encoding: "utf8",
	});
	return { status, stdout, stderr };
}

/** `snakepit run OPTIONS -- COMMAND`. */
export function run(
	command: readonly string[],
	...options: readonly string[]
): readonly [string, ...string[]] {
	return [...SNAKEPIT, "run", ...options, "--", ...command];
}

/** A process that a test started, and what descends from it. */
export interface Started {
	readonly child: ChildProcess;
	/** Waits for a line on standard output, and returns it. */
	line(): Promise<string>;
	/** Writes to standard input. */
	write(text: string): void;
	/** Resolves when every process that has descriptor 3 is gone, and nothing that carries the mark is left. */
	gone(): Promise<void>;
	/** Everything on standard error until now. */
	errors(): string;
	/** Everything that was written to descriptor 3 until now. */
	reported(): string;
	/** The processes that carry the mark. */
	marked(): readonly number[];
	/** How the child ended. */
	readonly end: Promise<number | NodeJS.Signals>;
}

const DEADLINE_MS = 40_000;
const MARK = "SNAKEPIT_CLI_TEST";

/** Starts a program as the leader of a group of its own, and ends what is left of it after the test. */
export function started([program, ...args]: readonly [
	string,
	...string[],
]): Started {
	const mark = randomUUID();
	const child = spawn(program, args, {
		stdio: ["pipe", "pipe", "pipe", "pipe"],
		detached: true,
		env: { ...process.env, [MARK]: mark },
	});
	const held = child.stdio[3] as Readable;
	let reported = "";
	held.setEncoding("utf8").on("data", (text: string) => {
		reported += text;
	});
	const released = once(held, "end");
	const lines: Interface = createInterface({
		input: child.stdout as Readable,
	});
	const iterator = lines[Symbol.asyncIterator]();
	let errors = "";
	child.stderr?.setEncoding("utf8").on("data", (text: string) => {
		errors += text;
	});
	const end = once(child, "exit").then(
		([status, signal]) => signal ?? status,
	) as Started["end"];
	onTestFinished(() => {
		for (const pid of markedBy(mark)) endProcess(pid);
	});
	return {
		child,
		end,
		line: async () => (await iterator.next()).value,
		write: (text) => child.stdin?.write(text),
		errors: () => errors,
		reported: () => reported,
		marked: () => markedBy(mark),
		gone: async () => {
			await released;
			await eventually("the mark is gone", () => markedBy(mark).length === 0);
		},
	};
}

/** Waits until this is so. */
export async function eventually(
	what: string,
	isSo: () => boolean,
): Promise<void> {
	const deadline = performance.now() + DEADLINE_MS;
	while (!isSo()) {
		if (performance.now() > deadline)
			throw new Error(`Not within ${DEADLINE_MS} ms: ${what}.`);
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

/** The processes below one that the native binary runs, and it itself: by name of what they do. */
export function chain(front: number): {
	readonly supervisor: number;
	readonly exitWatcher: number;
} {
	const [exitWatcher = 0, supervisor = 0] = childrenOf(front);
	return { supervisor, exitWatcher };
}

/** The children of a process, in the order of their start. */
export function childrenOf(pid: number): readonly number[] {
	return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
		.split(" ")
		.filter(Boolean)
		.map(Number);
}

/** Processes with the mark in their environment, or, for those that cleared that, in their arguments. */
function markedBy(mark: string): readonly number[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.filter((name) => {
			try {
				return ["environ", "cmdline"].some((file) =>
					readFileSync(`/proc/${name}/${file}`, "latin1").includes(mark),
				);
			} catch {
				// It has ended.
				return false;
			}
		})
		.map(Number);
}

function endProcess(pid: number): void {
	try {
		process.kill(pid, "SIGKILL");
	} catch {
		// It has ended.
	}
}
