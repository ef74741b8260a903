import type { RecycleReason } from "../pool-events.ts";
import type { Worker } from "../worker/worker.ts";

/** Who decides how long a replaced worker stays. */
export interface ReplacedWorkersSetting {
	/** Whether something still needs this very process. */
	readonly isNeeded: (incarnation: string) => boolean;
	/** It is replaced, and stays only for the sessions that need it. */
	readonly onReserved: (worker: Worker) => void;
}

/** Workers that are replaced, but needed by sessions that were bound while the successor warmed up. */
export class ReplacedWorkers {
	readonly #setting: ReplacedWorkersSetting;
	readonly #workers = new Map<Worker, RecycleReason>();

	constructor(setting: ReplacedWorkersSetting) {
		this.#setting = setting;
	}

	/** Its successor has the slot: it goes when no session needs it any more. */
	add(worker: Worker, reason: RecycleReason): void {
		if (!this.#setting.isNeeded(worker.ref.incarnation)) {
			worker.retire(reason);
			return;
		}
		this.#workers.set(worker, reason);
		this.#setting.onReserved(worker);
	}

	/** Lets those go that nobody needs any more. */
	retireUnneeded(): void {
		for (const [worker, reason] of this.#workers) {
			if (this.#setting.isNeeded(worker.ref.incarnation)) continue;
			this.#workers.delete(worker);
			worker.retire(reason);
		}
	}

	/** It is gone. */
	forget(worker: Worker): void {
		this.#workers.delete(worker);
	}
}
