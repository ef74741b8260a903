import type { SnakepitEvent } from "../contract/events.ts";
import type { ProcessHost } from "../contract/world.ts";
import { findRunDirectories } from "../os/private-directory.ts";
import { directoriesOf } from "../os/shared-memory.ts";
import type { Incident } from "../registry/incident.ts";
import { readIncidentFiles } from "../registry/incident-files.ts";
import { type RunLock, removeFreeLock } from "../registry/run-lock.ts";
import type { RunName } from "../registry/run-name.ts";
import type { SetAsideFile } from "./cleanup-report.ts";
import type { DeadRun } from "./orphan-search.ts";
import type { ClaimParts, RunClaim } from "./run-claim.ts";
import { ownership } from "./run-owner.ts";
import type { Settlement } from "./settlement.ts";
import type { UnrecordedRun } from "./unrecorded-runs.ts";

/** Claims a run whose file is of no use: its processes are known by their marker alone. */
export class MarkerClaim implements RunClaim {
	readonly dead: DeadRun;
	readonly program = undefined;
	readonly mayLive = true;
	readonly #parts: ClaimParts;
	readonly #name: RunName;
	readonly #lock: RunLock;
	readonly #reason: string;

	constructor(parts: ClaimParts, name: RunName, lock: RunLock, reason: string) {
		this.#parts = parts;
		this.#name = name;
		this.#lock = lock;
		this.#reason = reason;
		this.dead = {
			ofRun: name.runId,
			owns: ownership(name, parts.host.self, parts.directory.key),
			workers: [],
		};
	}

	settle({ complete }: Settlement): {
		readonly over: boolean;
		readonly setAside?: SetAsideFile;
	} {
		const { claimant } = this.#parts;
		// A watchdog leaves it to the next start of a program, which reports where it is.
		const path =
			complete && claimant.kind !== "watchdog"
				? this.#setAside(claimant.report)
				: undefined;
		this.#lock.release(path === undefined ? "kept" : "removed");
		return path === undefined
			? { over: false }
			: { over: true, setAside: { path, reason: this.#reason } };
	}

	#setAside(report: (incident: Incident) => void): string | undefined {
		const path = this.#parts.directory.setAside(this.#name);
		if (path !== undefined) removeDirectories(this.#parts, this.#name, report);
		return path;
	}
}

export interface UnrecordedParts extends ClaimParts {
	readonly emit: (event: SnakepitEvent) => void;
}

/**
 * Cleans up after a run without a record. No lock keeps other starts away: of
 * two that end the same process each proves before every signal which it is.
 */
export class UnrecordedClaim implements RunClaim {
	readonly dead: DeadRun;
	readonly program = undefined;
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

/**
 * Removes the private directories of a run, and reports what protections
 * wrote there. Their paths were in the file: they are found by their names.
 */
function removeDirectories(
	{ host }: { readonly host: ProcessHost },
	{ runId, ownerKey }: RunName,
	report: (incident: Incident) => void,
): void {
	for (const path of findRunDirectories(runId, ownerKey)) {
		for (const incident of readIncidentFiles(path, runId, () => []))
			report(incident);
		host.remove(directoriesOf(path, runId));
	}
}
