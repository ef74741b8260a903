import type { Clock } from "../world.ts";
import type { ProcessGroup } from "./process-group.ts";

/** A look costs two small reads for each worker: with 100 of them, a thousandth of the time. */
const LOOK_MS = 2_000;

/**
 * The groups that this program started. Their leaders are looked at from time to
 * time: what a leader started before the last look can be told from strangers
 * after its end, also without a marker.
 */
export class OwnGroups {
	readonly #groups = new Set<ProcessGroup>();
	readonly #clock: Clock;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	add(group: ProcessGroup): void {
		if (group.noteLeader() !== "noted") return;
		this.#groups.add(group);
		if (this.#groups.size === 1) this.#lookLater();
	}

	#lookLater(): void {
		this.#clock.after(LOOK_MS, () => {
			for (const group of this.#groups)
				if (group.noteLeader() !== "noted") this.#groups.delete(group);
			if (this.#groups.size > 0) this.#lookLater();
		});
	}
}
