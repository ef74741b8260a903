import type { SnakepitEvent, WorkerRef } from "@snakepit/core";
import type { WorkerState } from "@snakepit/core/infrastructure";
import { isUnwanted } from "./unwanted-end.ts";

/** The last word of a worker's heartbeat. */
export type Pulse =
	| { readonly kind: "none" }
	| {
			readonly kind: "answered";
			readonly latencyMs: number;
			readonly atMs: number;
	  }
	| { readonly kind: "missed"; readonly inARow: number }
	| { readonly kind: "busy" }
	| { readonly kind: "hung" };

/** One slot of the pool and the process that is in it now. */
export interface WorkerRow {
	readonly workerId: string;
	readonly incarnation: string;
	readonly state: WorkerState;
	readonly pid: number | undefined;
	/** Calls that this process has answered. */
	readonly calls: number;
	readonly pulse: Pulse;
	/** Whether it ended although nobody in this program wanted it to. */
	readonly lost: boolean;
	/** The process that was in the slot before. */
	readonly replaces: number | undefined;
}

/** Keeps one row per worker, from nothing but the pool's events. */
export class WorkerBoard {
	readonly #rows = new Map<string, WorkerRow>();

	get rows(): readonly WorkerRow[] {
		return [...this.#rows.values()].sort((a, b) =>
			a.workerId.localeCompare(b.workerId, "en", { numeric: true }),
		);
	}

	hear(event: SnakepitEvent): void {
		switch (event.type) {
			case "worker.starting":
				this.#rows.set(event.workerId, {
					workerId: event.workerId,
					incarnation: event.incarnation,
					state: "starting",
					pid: undefined,
					calls: 0,
					pulse: { kind: "none" },
					lost: false,
					replaces: this.#rows.get(event.workerId)?.pid,
				});
				break;
			case "worker.spawned":
				this.#update(event, () => ({ pid: event.pid }));
				break;
			case "worker.ready":
				this.#update(event, () => ({ state: "ready" }));
				break;
			case "worker.retiring":
				this.#update(event, () => ({ state: "draining" }));
				break;
			case "worker.condemned":
			case "worker.start_failed":
			case "worker.stop_step":
				this.#update(event, () => ({ state: "stopping" }));
				break;
			case "worker.exited":
				this.#update(event, () => ({
					state: "exited",
					lost: isUnwanted(event.reason),
				}));
				break;
			case "call.released":
				this.#update(event, ({ calls }) => ({ calls: calls + 1 }));
				break;
			case "heartbeat.answered": {
				const { latencyMs, wallMs: atMs } = event;
				this.#update(event, () => ({
					pulse: { kind: "answered", latencyMs, atMs },
				}));
				break;
			}
			case "heartbeat.missed": {
				const inARow = event.missedInARow;
				this.#update(event, () => ({ pulse: { kind: "missed", inARow } }));
				break;
			}
			case "heartbeat.busy":
				this.#update(event, () => ({ pulse: { kind: "busy" } }));
				break;
			case "heartbeat.hung":
				this.#update(event, () => ({ pulse: { kind: "hung" } }));
				break;
		}
	}

	/** A process that has given up its slot changes nothing any more; one that has exited stays so. */
	#update(
		ref: WorkerRef,
		change: (row: WorkerRow) => Partial<WorkerRow>,
	): void {
		const row = this.#rows.get(ref.workerId);
		if (row?.incarnation !== ref.incarnation || row.state === "exited") return;
		this.#rows.set(ref.workerId, { ...row, ...change(row) });
	}
}
