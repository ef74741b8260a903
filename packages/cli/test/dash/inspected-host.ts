import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { endHost } from "../../../../scripts/end-host.ts";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import { PYTHON } from "../../../adapter-python/test/support/pythons.ts";
import { SystemProcessHost } from "../../../core/src/os/this-machine.ts";

/** A program with Python workers, in a process of its own. */
export interface InspectedHost {
	readonly dataDir: string;
	readonly runId: string;
	/** Has it make a call, or some. @param pool `"tools"` by default. */
	call(command: string, args: unknown, times?: number, pool?: string): void;
	kill(signal: NodeJS.Signals): void;
	/** Ends it with its workers, and removes its ledger. */
	end(): Promise<void>;
}

const machine = new SystemProcessHost();

/** The tools of a pool that has no others. */
const TOOLS = join(import.meta.dirname, "tools.py");

type PoolOptions = Readonly<Record<string, unknown>>;

/**
 * @param pool options of its pool "tools".
 * @param more options of further pools; `tools` is the path of their tools.
 * @param of whose data directory it has, after that has ended; its own by default.
 */
export async function inspectedHost(
	scopes: readonly string[],
	pool: PoolOptions = {},
	more: readonly PoolOptions[] = [],
	of?: InspectedHost,
): Promise<InspectedHost> {
	const dataDir = of?.dataDir ?? mkdtempSync(join(tmpdir(), "snakepit-test-"));
	const setting = {
		...{ executable: PYTHON, run: { dataDir, control: { scopes } } },
		pools: [{ name: "tools", ...pool }, ...more].map((each) => ({
			tools: TOOLS,
			...each,
		})),
	};
	const child = spawn(
		process.execPath,
		[
			"--conditions=snakepit-source",
			join(import.meta.dirname, "host-program.ts"),
			JSON.stringify(setting),
		],
		{ stdio: ["pipe", "pipe", "inherit"] },
	);
	const self = machine.observe(child.pid ?? 0);
	const [line] = await once(createInterface(child.stdout), "line");
	const { runId } = JSON.parse(line) as { runId: string };
	return {
		...{ dataDir, runId },
		call: (command, args, times = 1, pool = "tools") => {
			const order = JSON.stringify({ pool, command, args, times });
			child.stdin.write(`${order}\n`);
		},
		kill: (signal) => void child.kill(signal),
		end: async () => {
			await endHost(machine, child, self);
			// The private directory of its run, into which its guard may still write, is removed after the last test.
			removeDirectory(dataDir);
		},
	};
}
