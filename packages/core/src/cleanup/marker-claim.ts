import { findRunDirectories } from "../os/private-directory.ts";
import { directoriesOf } from "../os/shared-memory.ts";
import type { Incident } from "../registry/incident.ts";
import { readIncidentFiles } from "../registry/incident-files.ts";
import { recordedNames } from "../registry/recorded-names.ts";
import type { RunLock } from "../registry/run-lock.ts";
import type { RunName } from "../registry/run-name.ts";
import type { ProcessHost } from "../world.ts";
import type { SetAsideFile } from "./cleanup-report.ts";
import type { DeadRun } from "./orphan-search.ts";
import { ownership } from "./ownership.ts";
import type { ClaimParts, RunClaim } from "./run-claim.ts";
import type { Settlement } from "./settlement.ts";

/** Claims a run whose file is of no use: its processes are known by their marker alone. */
export class MarkerClaim implements RunClaim {
	readonly dead: DeadRun;
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
		// The next start of a program sets it aside: a watchdog could tell nobody where.
		const path =
			complete && claimant.kind === "reaper"
				? this.#setAside(claimant.tell)
				: undefined;
		this.#lock.release(path === undefined ? "kept" : "removed");
		return path === undefined
			? { over: false }
			: { over: true, setAside: { path, reason: this.#reason } };
	}

	#setAside(tell: (incident: Incident) => void): string | undefined {
		const path = this.#parts.directory.setAside(this.#name);
		if (path !== undefined) removeDirectories(this.#parts, this.#name, tell);
		return path;
	}
}

/**
 * Removes the private directories of a run, and tells what protections wrote
 * there. Where they are was in the file: they are known by their names alone.
 */
export function removeDirectories(
	{ host }: { readonly host: ProcessHost },
	{ runId, ownerKey }: RunName,
	tell: (incident: Incident) => void,
): void {
	const naming = recordedNames(() => []);
	for (const path of findRunDirectories(runId, ownerKey)) {
		for (const incident of readIncidentFiles(path, runId, naming))
			tell(incident);
		host.remove(directoriesOf(path, runId));
	}
}
