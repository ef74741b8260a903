import type { ProcessIdentity } from "../identity.ts";
import type { Marker } from "../marker.ts";
import { isRunDirectory } from "../os/private-directory.ts";
import type { LedgerDirectory } from "../registry/ledger-directory.ts";
import type { WorkerRecord } from "../registry/process-registry.ts";
import { RunFile } from "../registry/run-file.ts";
import type { RunLock } from "../registry/run-lock.ts";
import { ownerKey, type RunName, runPath } from "../registry/run-name.ts";
import type { StoredRun } from "../registry/schema.ts";
import type { Sqlite } from "../registry/sqlite.ts";
import type { RunId } from "../run-id.ts";
import type { Clock, ProcessHost } from "../world.ts";
import type { SetAsideFile } from "./cleanup-report.ts";
import type { DeadRun } from "./orphan-search.ts";
import type { Settlement } from "./settlement.ts";

/**
 * The right to clean up after a dead run, as long as its lock is held: nobody
 * else has it, and a claimant that dies leaves it to the next start.
 */
export interface RunClaim {
	/** What there is to look for. */
	readonly dead: DeadRun;
	/** Whether processes of it may live: not after another boot. */
	readonly mayLive: boolean;
	/** Records what became of the run, removes its files, and lets go of it. */
	settle(settlement: Settlement): {
		/** Whether nothing is left to do for a later start. */
		readonly over: boolean;
		/** Where a file that was of no use is now. */
		readonly setAside?: SetAsideFile;
	};
}

/** What claiming needs. */
export interface ClaimParts {
	readonly sqlite: Sqlite;
	readonly directory: LedgerDirectory;
	readonly host: ProcessHost;
	readonly clock: Clock;
	/** The run that cleans up. */
	readonly claimant: RunId;
}

/** Claims a run by its record. */
export class LedgerClaim implements RunClaim {
	readonly dead: DeadRun;
	readonly mayLive: boolean;
	readonly #parts: ClaimParts;
	readonly #name: RunName;
	readonly #lock: RunLock;
	readonly #file: RunFile;
	readonly #run: StoredRun;

	/** Commits the claim, before anything is done with it. Throws what SQLite throws. */
	constructor(
		parts: ClaimParts,
		name: RunName,
		lock: RunLock,
		run: StoredRun,
		workers: readonly WorkerRecord[],
		mayLive: boolean,
	) {
		this.#parts = parts;
		this.#name = name;
		this.#lock = lock;
		this.mayLive = mayLive;
		this.dead = {
			ofRun: name.runId,
			owns: ownership(name, parts.host.self),
			workers: workers.filter((worker) => worker.status !== "ended"),
		};
		this.#run = {
			...run,
			state: "shutting_down",
			claimedBy: `reaper:${parts.claimant}`,
		};
		const path = runPath(parts.directory.runs, name, "db");
		this.#file = RunFile.open(parts.sqlite, path);
		try {
			this.#file.writeEnds([], 0, this.#run);
		} catch (error) {
			this.#file.close("goes_on");
			throw error;
		}
	}

	settle(settlement: Settlement): { readonly over: boolean } {
		const { directory, host } = this.#parts;
		const runDirectory = this.#run.directory;
		if (settlement.complete && isRunDirectory(runDirectory, this.#run.runId))
			host.remove([runDirectory]);
		const over = this.#record(settlement) && settlement.complete;
		this.#file.close(over ? "is_over" : "goes_on");
		if (over) directory.retire(this.#name);
		this.#lock.release(over ? "removed" : "kept");
		return { over };
	}

	/** Returns whether it could be written. */
	#record({ complete, reaped, ends }: Settlement): boolean {
		const killed = this.#run.killed + reaped.length;
		const endedAt = this.#parts.clock.wall();
		try {
			this.#file.writeEnds(
				ends,
				endedAt,
				complete
					? {
							...this.#run,
							state: "terminated",
							killed,
							endedAt,
							clean: false,
							endedBy: this.#run.claimedBy,
							claimedBy: undefined,
						}
					: { ...this.#run, killed, claimedBy: undefined },
			);
			return true;
		} catch {
			return false; // The disk became full meanwhile: the next start does it again and finds nothing.
		}
	}
}

/** Claims a run whose file is of no use: its processes are known by their marker alone. */
export class MarkerClaim implements RunClaim {
	readonly dead: DeadRun;
	readonly mayLive = true;
	readonly #directory: LedgerDirectory;
	readonly #name: RunName;
	readonly #lock: RunLock;
	readonly #reason: string;

	constructor(
		{ directory, host }: ClaimParts,
		name: RunName,
		lock: RunLock,
		reason: string,
	) {
		this.#directory = directory;
		this.#name = name;
		this.#lock = lock;
		this.#reason = reason;
		this.dead = {
			ofRun: name.runId,
			owns: ownership(name, host.self),
			workers: [],
		};
	}

	settle({ complete }: Settlement): {
		readonly over: boolean;
		readonly setAside?: SetAsideFile;
	} {
		const path = complete ? this.#directory.setAside(this.#name) : undefined;
		this.#lock.release(path === undefined ? "kept" : "removed");
		return path === undefined
			? { over: false }
			: { over: true, setAside: { path, reason: this.#reason } };
	}
}

/**
 * A marker belongs to a run when it names the run and the very process that
 * owned it: two directories may have the same run id. One from another pid
 * namespace says nothing that can be judged from here.
 */
function ownership(
	name: RunName,
	self: ProcessIdentity,
): (marker: Marker) => boolean {
	return (marker) =>
		marker.runId === name.runId &&
		marker.pidNamespace === self.pidNamespace &&
		ownerKey({
			machineId: self.machineId,
			bootId: marker.bootId,
			pidNamespace: marker.pidNamespace,
			pid: marker.hostPid,
			startTime: marker.hostStartTime,
		}) === name.ownerKey;
}
