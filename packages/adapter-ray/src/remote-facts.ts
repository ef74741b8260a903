import type { LocatedRun, WorkerProcess } from "@snakepit/core/adapter";

/** What the gateway of a pool reports about itself in its ready line. */
export interface GatewayFacts {
	/** The version of Ray. */
	readonly ray: string;
	/** Of the cluster. */
	readonly address: string;
	/** PEM: the certificate that the host shows to relays; `ca` if the user has an authority. */
	readonly tls: {
		readonly certificate: string;
		readonly key: string;
		readonly ca: string | null;
	};
	/** Of `runsElsewhere`, those that the cluster knows. */
	readonly located: readonly LocatedRun[];
}

/** The facts that a worker on a node reports in addition to those of every worker. */
export interface RelayFacts {
	/** Of the worker, on its node. */
	readonly pid: number;
	/** Where the relay listens, and its certificate as PEM. */
	readonly relay: {
		readonly host: string;
		readonly port: number;
		readonly certificate: string;
		/** How many bytes of one value travel outside frames; 0 if the node has no shared memory. */
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
