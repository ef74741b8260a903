import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { endHost } from "../../../../scripts/end-host.ts";
import { PYTHON } from "../../../adapter-python/test/support/pythons.ts";
import type { RunOptions } from "../../../core/src/run/run-options.ts";
import {
	machine,
	temporaryDirectory,
} from "../../../core/test/cleanup/hosts.ts";

/** A program with Python workers, in a process of its own. */
export interface TroubledHost {
	readonly child: ChildProcess;
	readonly pid: number;
	readonly dataDir: string;
	readonly runId: string;
	/** Has it make a call, or some. */
	call(command: string, args?: unknown, times?: number): void;
	killed(): Promise<void>;
}

interface HostSetting {
	/** Of its pool. */
	readonly pool?: Readonly<Record<string, unknown>>;
	readonly control?: RunOptions["control"];
	readonly env?: NodeJS.ProcessEnv;
	readonly dataDir?: string;
}

/** Starts it, and ends it with its workers when the test is over. */
export async function troubledHost({
	pool = {},
	control,
	env = {},
	dataDir = temporaryDirectory(),
}: HostSetting = {}): Promise<TroubledHost> {
	const tools = join(import.meta.dirname, "troubled.py");
	const options = { name: "tools", ...pool, tools };
	const setting = {
		...{ executable: PYTHON, run: { dataDir, control }, pools: [options] },
	};
	const child = spawn(
		process.execPath,
		[
			"--conditions=snakepit-source",
			join(import.meta.dirname, "../dash/host-program.ts"),
			JSON.stringify(setting),
		],
		{
			stdio: ["pipe", "pipe", "inherit"],
			env: { ...process.env, ...env },
		},
	);
	const pid = child.pid ?? 0;
	const self = machine.observe(pid);
	onTestFinished(() => endHost(machine, child, self));
	const [line] = await Promise.race([
		once(createInterface(child.stdout), "line"),
		once(child, "exit").then(() => {
			throw new Error("The host ended before it was up.");
		}),
	]);
	const { runId } = JSON.parse(line) as { runId: string };
	return {
		...{ child, pid, dataDir, runId },
		call: (command, args = {}, times = 1) =>
			void child.stdin.write(
				`${JSON.stringify({ pool: options.name, command, args, times })}\n`,
			),
		killed: async () => {
			const exit = once(child, "exit");
			child.kill("SIGKILL");
			await exit;
		},
	};
}
