import type { LocatedRun, WorkerProcess } from "@snakepit/core/adapter";

/** What the gateway of a pool reports about itself in its ready line. */
export interface GatewayFacts {
	/** The version of Ray. */
	readonly ray: string;
	/** Of the cluster. */
	readonly address: string;
	/** PEM: what the host shows to relays; `ca` where the user has an authority. */
	readonly tls: {
		readonly certificate: string;
		readonly key: string;
		readonly ca: string | null;
	};
	/** Of `runsElsewhere`, those that the cluster knows. */
	readonly located: readonly LocatedRun[];
}

/** What a worker on a node reports beside what every worker does. */
export interface RelayFacts {
	/** Where the relay listens, and its certificate as PEM. */
	readonly relay: {
		readonly host: string;
		readonly port: number;
		readonly certificate: string;
		/** How much of one value crosses beside frames; 0 where the node shares no memory. */
		readonly sharedBytes: number;
	};
	readonly node: {
		readonly id: string;
		readonly name: string;
		readonly address: string;
	};
}

type Connected = Pick<WorkerProcess, "slot" | "ready"> | undefined;

/** The gateway with which this worker was started. */
export function gatewayOf(worker: Connected): GatewayFacts {
	return worker?.slot.companion?.ready as GatewayFacts;
}

/** The relay and the node of this worker. */
export function relayOf(worker: Connected): RelayFacts {
	return worker?.ready as RelayFacts;
}
