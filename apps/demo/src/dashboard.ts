import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Pool } from "@snakepit/core";
import type { Tools } from "./gen/digits.ts";

const CLI = join(import.meta.dirname, "../../../packages/cli");

/** Reads the images again and again until Ctrl-C, with the dashboard in the browser. */
export async function readForEver(pool: Pool<Tools>): Promise<never> {
	const [status] = await once(
		start("build-page.ts", join(CLI, "dist/page")),
		"exit",
	);
	if (status !== 0) throw new Error("The dashboard's page cannot be built.");
	// In a process of its own: it outlives a host that is killed, and says so.
	const dashboard = start(
		"src/command/snakepit.ts",
		"dash",
		"--run",
		pool.runId,
	);
	// In a terminal Ctrl-C reaches it as well; a signal to this process alone does not.
	pool.on("host.signal_received", () => dashboard.kill());
	try {
		const images = await Array.fromAsync(pool.stream("images"));
		for (;;)
			await Promise.all(
				images.map(({ pixels, group }) =>
					pool.execute("read", { pixels, group }),
				),
			);
	} finally {
		dashboard.kill();
	}
}

/** Starts a program of `snakepit` from its sources. */
function start(program: string, ...args: readonly string[]): ChildProcess {
	return spawn(
		process.execPath,
		["--conditions=snakepit-source", join(CLI, program), ...args],
		{ stdio: ["ignore", "inherit", "inherit"] },
	);
}
