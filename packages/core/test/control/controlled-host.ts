import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { attach, type ControlClient } from "@snakepit/control";
import { onTestFinished } from "vitest";
import { endHost } from "../../../../scripts/end-host.ts";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import type { RunOptions } from "../../src/run/run-options.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

/** A program in a process of its own, whose run can be looked at. */
export interface ControlledHost {
	readonly child: ChildProcess;
	readonly dataDir: string;
	readonly runId: string;
	/** The private directory of its run; empty when it is gone. */
	directory(): string | undefined;
	/** Has it make a call. */
	call(command: string, args: unknown): void;
	client(silentMs?: number): Promise<ControlClient>;
	exited(): Promise<void>;
}

/** Starts it, and ends it with its workers when the test is over. */
export async function controlledHost(
	options: RunOptions,
	env: NodeJS.ProcessEnv = {},
): Promise<ControlledHost> {
	const { dataDir = temporaryDirectory() } = options;
	const child = spawn(
		process.execPath,
		[
			"--conditions=snakepit-source",
			join(import.meta.dirname, "host-program.ts"),
			JSON.stringify({ dataDir, ...options }),
		],
		{
			stdio: ["pipe", "pipe", "inherit"],
			env: { ...process.env, ...env },
		},
	);
	const self = machine.observe(child.pid ?? 0);
	onTestFinished(() => endHost(machine, child, self));
	const exit = once(child, "exit");
	const lines = createInterface({ input: child.stdout });
	const [line] = await once(lines, "line");
	const { runId } = JSON.parse(line) as { runId: string };
	const directory = (): string | undefined => {
		const name = readdirSync(tmpdir()).find((each) =>
			each.startsWith(`snakepit-${runId}-`),
		);
		return name === undefined ? undefined : join(tmpdir(), name);
	};
	const place = directory();
	// A host that was killed leaves it.
	if (place !== undefined) onTestFinished(() => removeDirectory(place));
	return {
		...{ child, dataDir, runId, directory },
		call: (command, args) =>
			void child.stdin.write(`${JSON.stringify({ command, args })}\n`),
		client: async (silentMs) => {
			const client = await attach({ dataDir, by: "a test", silentMs });
			onTestFinished(() => client[Symbol.dispose]());
			return client;
		},
		exited: async () => void (await exit),
	};
}
