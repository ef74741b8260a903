import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Transport } from "@snakepit/adapter-grpc-python";
import { type Pool, withPool } from "@snakepit/core";
import type { Display } from "./display.ts";
import { digitsEnvironment, makeEnvironment } from "./environment.ts";
import type { Tools } from "./gen/digits.ts";
import { poolOptions } from "./pool-options.ts";

const CLI = new URL("../../../packages/cli/", import.meta.url);

/** Reads the images again and again until Ctrl-C, with the dashboard in the browser. */
export async function readForEver(
	display: Display,
	transport: Transport,
): Promise<never> {
	const environment = digitsEnvironment();
	await makeEnvironment(environment, (line) => display.print(line));
	return await withPool(
		{
			...poolOptions(environment, transport),
			control: { scopes: ["read", "logs", "act", "call"] },
		},
		async (pool: Pool<Tools>) => {
			const dashboard = await openDashboard(pool.runId);
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
		},
	);
}

/** `snakepit dash` from its sources, in a process of its own: it outlives a host that is killed, and says so. */
async function openDashboard(runId: string): Promise<ChildProcess> {
	const built = fileURLToPath(new URL("dist/page", CLI));
	const [status] = await once(started("build-page.ts", built), "exit");
	if (status !== 0) throw new Error("The dashboard's page cannot be built.");
	return started("src/command/snakepit.ts", "dash", "--run", runId);
}

function started(program: string, ...args: readonly string[]): ChildProcess {
	return spawn(
		process.execPath,
		[
			"--conditions=snakepit-source",
			fileURLToPath(new URL(program, CLI)),
			...args,
		],
		{ stdio: ["ignore", "inherit", "inherit"] },
	);
}
