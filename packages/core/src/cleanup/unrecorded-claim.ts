import type { SnakepitEvent } from "../events.ts";
import { removeFreeLock } from "../registry/run-lock.ts";
import type { RunName } from "../registry/run-name.ts";
import { removeDirectories } from "./marker-claim.ts";
import type { DeadRun } from "./orphan-search.ts";
import type { ClaimParts, RunClaim } from "./run-claim.ts";
import type { Settlement } from "./settlement.ts";
import type { UnrecordedRun } from "./unrecorded-runs.ts";

export interface UnrecordedParts extends ClaimParts {
	readonly emit: (event: SnakepitEvent) => void;
}

/**
 * Cleans up after a run without a record. No lock keeps other starts away: of
 * two that end the same process each proves before every signal which it is.
 */
export class UnrecordedClaim implements RunClaim {
	readonly dead: DeadRun;
	readonly mayLive = true;
	readonly #parts: UnrecordedParts;
	readonly #name: RunName;

	constructor(parts: UnrecordedParts, { name, dead }: UnrecordedRun) {
		this.#parts = parts;
		this.#name = name;
		this.dead = dead;
	}

	settle({ complete }: Settlement): ReturnType<RunClaim["settle"]> {
		const { directory, emit } = this.#parts;
		// A file that cannot be read now says later where its directories are.
		if (!complete || directory.hasFile(this.#name)) return { over: complete };
		removeDirectories(this.#parts, this.#name, emit);
		directory.removeBeside(this.#name);
		removeFreeLock(this.#parts, this.#name);
		return { over: true };
	}
}
