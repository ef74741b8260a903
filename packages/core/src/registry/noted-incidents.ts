import { HOST_INCIDENTS_LIMIT, type HostIncident } from "./host-incident.ts";

/** What went wrong in this run, in memory, and what of it is in its file. */
export class NotedIncidents {
	readonly #all: HostIncident[] = [];
	#written = 0;

	get all(): readonly HostIncident[] {
		return this.#all;
	}

	get unwritten(): readonly HostIncident[] {
		return this.#all.slice(this.#written);
	}

	/** Returns false when there are too many already. */
	add(incident: HostIncident): boolean {
		if (this.#all.length >= HOST_INCIDENTS_LIMIT) return false;
		this.#all.push(incident);
		return true;
	}

	/** All of them are in the file now. */
	written(): void {
		this.#written = this.#all.length;
	}

	/** The file has lost everything. */
	rewrite(): void {
		this.#written = 0;
	}
}
