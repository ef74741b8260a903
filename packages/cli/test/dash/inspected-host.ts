import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { PoolHealth, SnakepitEvent } from "@snakepit/core";
import { onTestFinished } from "vitest";
import { endHost } from "../../../../scripts/end-host.ts";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import { PYTHON } from "../../../adapter-python/test/support/pythons.ts";
import { SystemProcessHost } from "../../../core/src/os/this-machine.ts";
import type { RunOptions } from "../../../core/src/run/run-options.ts";

/** A program with Python workers, in a process of its own. */
export interface InspectedHost {
	readonly child: ChildProcess;
	readonly pid: number;
	readonly dataDir: string;
	readonly runId: string;
	/** Has it make a call, or some. @param pool the first one by default. */
	call(command: string, args?: unknown, times?: number, pool?: string): void;
	/** How it sees itself, once its event loop turns. */
	tell(): Promise<ToldByHost>;
	/** Blocks its event loop until there is this file. */
	blockUntil(path: string): void;
	kill(signal: NodeJS.Signals): void;
	/** Kills it, and resolves when it has ended. */
	killed(): Promise<void>;
	/** Ends it with its workers, and removes its ledger. */
	end(): Promise<void>;
}

/** What a program tells of itself. */
export interface ToldByHost {
	readonly health: PoolHealth;
	/** In Prometheus's format. */
	readonly metrics: string;
	/** Those of its ledger and of the program itself. */
	readonly events: readonly SnakepitEvent[];
}

type PoolOptions = Readonly<Record<string, unknown>>;

export interface HostSetting extends Pick<RunOptions, "control" | "audit"> {
	/** Of its first pool, which is called "tools" by default. */
	readonly pool?: PoolOptions | undefined;
	/** Of further pools; `tools` is the path of their tools. */
	readonly pools?: readonly PoolOptions[] | undefined;
	readonly env?: NodeJS.ProcessEnv;
	/** Its own by default, which is removed at its end. */
	readonly dataDir?: string;
}

const machine = new SystemProcessHost();

/** The tools of a pool that has no others. */
const TOOLS = join(import.meta.dirname, "tools.py");

export async function inspectedHost({
	pool = {},
	pools: more = [],
	control,
	audit,
	env = {},
	dataDir: known,
}: HostSetting): Promise<InspectedHost> {
	const dataDir = known ?? mkdtempSync(join(tmpdir(), "snakepit-test-"));
	const { name: first = "tools" } = pool;
	const pools = [{ name: first, ...pool }, ...more].map((each) => ({
		tools: TOOLS,
		...each,
	}));
	const run = { dataDir, control, audit };
	const setting = { executable: PYTHON, run, pools };
	const child = spawn(
		process.execPath,
		[
			"--conditions=snakepit-source",
			join(import.meta.dirname, "host-program.ts"),
			JSON.stringify(setting),
		],
		{ stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } },
	);
	const pid = child.pid ?? 0;
	const self = machine.observe(pid);
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
	const order = (what: object): void =>
		void child.stdin.write(
			`${JSON.stringify({ pool: first, times: 0, ...what })}\n`,
		);
	const { runId } = JSON.parse(await said()) as { runId: string };
	return {
		...{ child, pid, dataDir, runId },
		call: (command, args = {}, times = 1, pool = first) =>
			order({ pool, command, args, times }),
		tell: async () => {
			order({ tell: true });
			return JSON.parse(await said());
		},
		blockUntil: (path) => order({ blockUntil: path }),
		kill: (signal) => void child.kill(signal),
		killed: async () => {
			const exit = once(child, "exit");
			child.kill("SIGKILL");
			await exit;
		},
		end: async () => {
			await endHost(machine, child, self);
			// The private directory of its run, into which its guard may still write, is removed after the last test.
			if (known === undefined) removeDirectory(dataDir);
		},
	};
}

/** The same for one test, which ends it. */
export async function hostOfTest(
	setting: HostSetting = {},
): Promise<InspectedHost> {
	const host = await inspectedHost(setting);
	onTestFinished(() => host.end());
	return host;
}
