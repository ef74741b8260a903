import type { ProcessIdentity, RunId } from "@snakepit/core/infrastructure";
import type { HostMessage, WatchedRun } from "./message.ts";

/** A worker that the host has reported. */
export interface ListedWorker {
	readonly incarnation: string;
	readonly identity: ProcessIdentity;
	readonly groupId: number;
}

export interface ListedRun extends WatchedRun {
	readonly workers: ReadonlyMap<string, ListedWorker>;
}

/** The runs of the host and their workers. */
export class WatchList {
	readonly #runs = new Map<
		RunId,
		WatchedRun & { readonly workers: Map<string, ListedWorker> }
	>();

	get runs(): readonly ListedRun[] {
		return [...this.#runs.values()];
	}

	/** Applies a message; ignores one of an unknown run. */
	take(message: HostMessage): void {
		const { type, runId } = message;
		const run = this.#runs.get(runId);
		switch (type) {
			case "run": {
				const { type: _, ...facts } = message;
				this.#runs.set(runId, {
					...facts,
					workers: run?.workers ?? new Map(),
				});
				return;
			}
			case "watch": {
				const { incarnation, identity, groupId } = message;
				run?.workers.set(incarnation, { incarnation, identity, groupId });
				return;
			}
			case "unwatch":
				run?.workers.delete(message.incarnation);
				return;
			case "farewell":
				this.#runs.delete(runId);
		}
	}
}
