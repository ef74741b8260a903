import type { SnakepitEvent } from "../../../src/contract/events.ts";
import type { ProcessIdentity } from "../../../src/contract/identity.ts";
import type {
	ProcessRegistry,
	Reservation,
	WorkerEnd,
} from "../../../src/contract/process-registry.ts";
import type { ContractCase } from "../../../src/testing/contract-case.ts";

/** One registry under test. */
export interface RegistryBench {
	/** Of a run that nothing was recorded in yet. */
	readonly registry: ProcessRegistry;
	/** The process whose run it is. */
	readonly owner: ProcessIdentity;
	/** Every event of the registry, in order. */
	readonly events: readonly SnakepitEvent[];
	/** Lets every write fail, as a full disk does. Left out: what follows from it is not tested. */
	readonly failWrites?: (() => void) | undefined;
	/** Lets writes succeed again. */
	readonly healWrites?: (() => void) | undefined;
	/** Called when the case is over, whether the registry was closed or not. */
	release?(): Promise<void> | void;
}

/** Makes a case that gets a registry of its own. */
export type RegistryCase = (
	title: string,
	body: (bench: RegistryBench) => void,
) => ContractCase;

/** A reservation for the next worker. */
export function reservationOf(
	registry: ProcessRegistry,
	fields: Partial<Reservation> = {},
): Reservation {
	return {
		incarnation: registry.nextIncarnation(),
		workerId: "pool-0",
		pool: "pool",
		fingerprint: "python#0123456789ab",
		files: ["/run/snakepit/1"],
		...fields,
	};
}

/** How a worker of the contract ends. */
export const CLOSED: WorkerEnd = {
	exit: { kind: "code", code: 0 },
	reason: "closed",
	killer: "none",
};

/** Reserves the next worker. */
export function reserve(registry: ProcessRegistry): Reservation {
	const reservation = reservationOf(registry);
	registry.reserve(reservation);
	return reservation;
}
