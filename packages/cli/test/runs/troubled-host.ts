import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { PoolHealth, SnakepitEvent } from "@snakepit/core";
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
	/** How it sees itself, once its event loop turns. */
	tell(): Promise<ToldByHost>;
	/** Blocks its event loop until there is this file. */
	blockUntil(path: string): void;
	killed(): Promise<void>;
}

/** What a program tells of itself. */
export interface ToldByHost {
	readonly health: PoolHealth;
	/** In Prometheus's format. */
	readonly metrics: string;
	/** Those of its ledger and of the program itself. */
	readonly events: readonly SnakepitEvent[];
}

interface HostSetting {
	/** Of its pool. */
	readonly pool?: Readonly<Record<string, unknown>>;
	readonly control?: RunOptions["control"];
	readonly audit?: RunOptions["audit"];
	readonly env?: NodeJS.ProcessEnv;
	readonly dataDir?: string;
}

/** Starts it, and ends it with its workers when the test is over. */
export async function troubledHost({
	pool = {},
	control,
	audit,
	env = {},
	dataDir = temporaryDirectory(),
}: HostSetting = {}): Promise<TroubledHost> {
	const tools = join(import.meta.dirname, "troubled.py");
	const options = { name: "tools", ...pool, tools };
	const setting = {
		...{
			executable: PYTHON,
			run: { dataDir, control, audit },
			pools: [options],
		},
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
	const lines = createInterface(child.stdout);
	const said = async (): Promise<string> => {
		const [line] = await Promise.race([
			once(lines, "line"),
			once(child, "exit").then(() => {
				throw new Error("The host has ended.");
			}),
		]);
		return line;
	};
	const { runId } = JSON.parse(await said()) as { runId: string };
	const order = (what: object): void =>
		void child.stdin.write(
			`${JSON.stringify({ pool: options.name, times: 0, ...what })}\n`,
		);
	return {
		...{ child, pid, dataDir, runId },
		call: (command, args = {}, times = 1) => order({ command, args, times }),
		tell: async () => {
			order({ tell: true });
			return JSON.parse(await said());
		},
		blockUntil: (path) => order({ blockUntil: path }),
		killed: async () => {
			const exit = once(child, "exit");
			child.kill("SIGKILL");
			await exit;
		},
	};
}
