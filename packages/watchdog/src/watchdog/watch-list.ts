import type { ProcessIdentity, RunId } from "@snakepit/core/infrastructure";
import type { HostMessage, WatchedRun } from "./message.ts";

/** A worker that the watchdog was told of. */
export interface ToldWorker {
	readonly incarnation: string;
	readonly identity: ProcessIdentity;
	readonly groupId: number;
}

export interface ListedRun extends WatchedRun {
	readonly workers: ReadonlyMap<string, ToldWorker>;
}

/** What a watchdog has to protect: the runs of its host and their workers. */
export class WatchList {
	readonly #runs = new Map<
		RunId,
		WatchedRun & { readonly workers: Map<string, ToldWorker> }
	>();

	get runs(): readonly ListedRun[] {
		return [...this.#runs.values()];
	}

	/** Takes a message. One of a run that it does not know changes nothing. */
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
