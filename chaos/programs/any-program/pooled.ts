import { createPool, type Pool } from "@snakepit/core";
import type { Adapter } from "@snakepit/core/adapter";
import { protectionsOf } from "../worker-adapter.ts";
import type { Launcher } from "./launcher.ts";

/** A pool of one worker that reports the facts of its run that the harness needs. */
export async function pooled<Client>(
	adapter: Adapter<Client>,
	{ dataDir, protections }: Launcher & { readonly kind: "pool" },
): Promise<Pool<never, Client>> {
	return await createPool({
		...{ adapter, dataDir, size: 1, callsPerWorker: 2 },
		start: { timeoutMs: 110_000 },
		output: { echo: "none" },
		...protectionsOf(protections),
		onEvent: (event) => {
			if (event.type === "run.started" || event.type === "protection.started")
				console.log(JSON.stringify({ [event.type]: event }));
		},
	});
}
