import type { ProcessGroup } from "./process-group.ts";

/** The groups that this program started, by their leaders' pids, as long as anybody else holds them. */
export class OwnGroups {
	readonly #groups = new Map<number, WeakRef<ProcessGroup>>();
	readonly #forgotten = new FinalizationRegistry<number>((id) => {
		// The number may be another group's of ours by now.
		if (this.#groups.get(id)?.deref() === undefined) this.#groups.delete(id);
	});

	add(group: ProcessGroup): void {
		this.#groups.set(group.id, new WeakRef(group));
		this.#forgotten.register(group, group.id);
	}

	/** Whoever looks at a leader proves by it what has started in its group so far. */
	noteLeader(id: number): void {
		this.#groups.get(id)?.deref()?.noteLeader();
	}
}
