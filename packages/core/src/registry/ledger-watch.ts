import type { SnakepitEvent } from "../events.ts";
import type { Clock, ProcessHost, Timer } from "../world.ts";
import type { ProcessRegistry } from "./process-registry.ts";
import { Reconciliation } from "./reconciliation.ts";

/** From the source documents: rare enough to cost nothing, often enough to keep the ledger true. */
const INTERVAL_MS = 30_000;

export interface LedgerWatchParts {
	readonly registry: ProcessRegistry;
	readonly host: ProcessHost;
	readonly clock: Clock;
	readonly emit: (event: SnakepitEvent) => void;
}

/** Compares the ledger with the process table from time to time, and writes what could not be written before. */
export class LedgerWatch {
	readonly #parts: LedgerWatchParts;
	readonly #reconciliation: Reconciliation;
	#timer: Timer;

	constructor(parts: LedgerWatchParts) {
		this.#parts = parts;
		this.#reconciliation = new Reconciliation(parts.registry, parts.host);
		this.#timer = this.#schedule();
	}

	stop(): void {
		this.#timer.cancel();
	}

	#schedule(): Timer {
		return this.#parts.clock.after(INTERVAL_MS, () => {
			this.#look();
			this.#timer = this.#schedule();
		});
	}

	/** Says something only when something is amiss. */
	#look(): void {
		const { registry, clock, emit } = this.#parts;
		const vanished = this.#reconciliation.look().length;
		const unwritten = registry.flush();
		if (vanished === 0 && unwritten === 0) return;
		emit({
			type: "registry.reconciled",
			wallMs: clock.wall(),
			runId: registry.runId,
			vanished,
			unwritten,
		});
	}
}
