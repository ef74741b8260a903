import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import type { TableEntry } from "../packages/core/src/os/process-table.ts";
import { endLeftover, processesWith } from "./leftovers.ts";

/** The variable by which everything that a marked host starts is found. The host lets its workers inherit it. */
export const MARK = "SNAKEPIT_MARKED_HOST";

const LOOK_MS = 20;

/** A host program in a group of its own, which a test kills. */
export interface MarkedHost {
	readonly child: ChildProcess;
	/** What it started and what lives, in the order of their pids; the host is not among it. */
	living(): readonly TableEntry[];
	/** SIGKILL to the host. Resolves to what is left when nothing is, or `withinMs` have passed. */
	kill(withinMs: number): Promise<readonly TableEntry[]>;
	/** Ends the host and whatever is left of it. */
	[Symbol.asyncDispose](): Promise<void>;
}

/** Starts a host, and waits for its first line. @throws Error it ended before that. */
export async function markedHost(
	program: string,
	args: readonly string[],
	env: NodeJS.ProcessEnv = {},
): Promise<MarkedHost> {
	const mark = randomUUID();
	const child = spawn(
		process.execPath,
		["--conditions=snakepit-source", program, ...args],
		{
			stdio: ["ignore", "pipe", "inherit"],
			env: { ...process.env, ...env, [MARK]: mark },
			detached: true,
		},
	);
	const exited = once(child, "exit");
	const living = () =>
		processesWith(MARK, mark).filter(({ pid }) => pid !== child.pid);
	const kill = async (withinMs: number) => {
		child.kill("SIGKILL");
		await exited;
		const deadline = performance.now() + withinMs;
		for (;;) {
			const left = living();
			if (left.length === 0 || performance.now() > deadline) return left;
			await pause(LOOK_MS);
		}
	};
	const host: MarkedHost = {
		child,
		living,
		kill,
		[Symbol.asyncDispose]: async () => {
			for (const each of await kill(0)) endLeftover(each);
		},
	};
	const begun = once(createInterface({ input: child.stdout }), "line");
	const first = await Promise.race([begun, exited.then(() => undefined)]);
	if (first !== undefined) return host;
	await host[Symbol.asyncDispose]();
	throw new Error(
		`The host ended before its first line, with ${child.exitCode ?? child.signalCode}.`,
	);
}
