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
	/** Has it make a call, or some. */
	call(command: string, args: unknown, times?: number): void;
	kill(signal: NodeJS.Signals): void;
	/** Ends it with its workers, and removes its ledger. */
	end(): Promise<void>;
}

const machine = new SystemProcessHost();

/** @param pool options of its pool. */
export async function inspectedHost(
	scopes: readonly string[],
	pool: Readonly<Record<string, unknown>> = {},
): Promise<InspectedHost> {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-test-"));
	const setting = {
		...{ tools: join(import.meta.dirname, "tools.py"), executable: PYTHON },
		...{ run: { dataDir, control: { scopes } }, pool },
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
		call: (command, args, times = 1) => {
			const order = JSON.stringify({ command, args, times });
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
