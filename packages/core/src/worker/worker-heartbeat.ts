import type { Connection } from "../contract/connection.ts";
import type { ProcessIdentity } from "../contract/identity.ts";
import type { World } from "../contract/world.ts";
import { HeartbeatMonitor } from "../heartbeat/heartbeat-monitor.ts";
import type { HeartbeatRounds } from "../heartbeat/heartbeat-rounds.ts";
import type { ResolvedOptions } from "../options/pool-options.ts";
import type { Worker } from "./worker.ts";

/** Watches a worker that became ready, and condemns it when it hangs; nothing with the heartbeat off. */
export function watchHeartbeat(
	worker: Worker,
	identity: ProcessIdentity,
	connection: Connection,
	options: ResolvedOptions["heartbeat"],
	world: World,
	rounds: HeartbeatRounds,
): HeartbeatMonitor | undefined {
	if (options === "off") return undefined;
	return new HeartbeatMonitor({
		ref: worker.ref,
		identity,
		ping: connection.ping?.bind(connection),
		usage: connection.usage?.bind(connection),
		options,
		world,
		rounds,
		onHung: (silentMs, cause) =>
			worker.condemn(
				"hung",
				cause === "idle"
					? `it has not answered for ${Math.round(silentMs)} ms and used no processor time (heartbeat.hungAfterMs)`
					: `it has used the processor for ${Math.round(silentMs)} ms without answering (heartbeat.busyLimitMs)`,
			),
	});
}
