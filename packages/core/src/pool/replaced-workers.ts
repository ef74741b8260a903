import type { RecycleReason } from "../pool-events.ts";
import type { Worker } from "../worker/worker.ts";
import type { Calls } from "./calls.ts";
import type { SessionTable } from "./session-table.ts";

/** Workers that are replaced, but needed by sessions that were bound while the successor warmed up. */
export class ReplacedWorkers {
	readonly #sessions: SessionTable;
	readonly #calls: Calls;
	readonly #workers = new Map<Worker, RecycleReason>();

	constructor(sessions: SessionTable, calls: Calls) {
		this.#sessions = sessions;
		this.#calls = calls;
	}

	/** Its successor has the slot: it is retired when no session needs it any more. */
	add(worker: Worker, reason: RecycleReason): void {
		if (!this.#sessions.needs(worker.ref.incarnation)) {
			worker.retire(reason);
			return;
		}
		this.#workers.set(worker, reason);
		this.#calls.scheduler.reserveForSessions(worker);
	}

	/** Retires those that no session needs any more. */
	retireUnneeded(): void {
		for (const [worker, reason] of this.#workers) {
			if (this.#sessions.needs(worker.ref.incarnation)) continue;
			this.#workers.delete(worker);
			worker.retire(reason);
		}
	}

	/** It is gone. */
	forget(worker: Worker): void {
		this.#workers.delete(worker);
	}
}
