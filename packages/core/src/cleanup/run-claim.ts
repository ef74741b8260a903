import type { Clock } from "../contract/clock.ts";
import type { RunId } from "../contract/identity.ts";
import type {
	HostProgram,
	WorkerRecord,
} from "../contract/process-registry.ts";
import type { ProcessHost } from "../contract/world.ts";
import { isRunDirectory } from "../os/private-directory.ts";
import { directoriesOfDead } from "../os/shared-memory.ts";
import type { Incident } from "../registry/incident.ts";
import { readIncidentFiles } from "../registry/incident-files.ts";
import {
	countKilled,
	isKilled,
	joinIncidents,
	type KilledProcess,
} from "../registry/joined-incidents.ts";
import type { StoredRun } from "../registry/ledger.ts";
import type { LedgerDirectory } from "../registry/ledger-directory.ts";
import { READERS_TIMEOUT_MS, RunFile } from "../registry/run-file.ts";
import type { RunLock } from "../registry/run-lock.ts";
import { type RunName, runPath } from "../registry/run-name.ts";
import type { Sqlite } from "../registry/sqlite.ts";
import type { SetAsideFile } from "./cleanup-report.ts";
import type { DeadRun } from "./orphan-search.ts";
import { ownership } from "./run-owner.ts";
import { creditProtections, type Settlement } from "./settlement.ts";

/**
 * The right to clean up after a dead run, as long as its lock is held: nothing
 * else has it, and a claimant that dies leaves it to the next start.
 */
export interface RunClaim {
	/** What there is to look for. */
	readonly dead: DeadRun;
	/** Whether processes of it may live: not after another boot. */
	readonly mayLive: boolean;
	/** `undefined` where no record says it. */
	readonly program: HostProgram | undefined;
	/**
	 * Records what became of the run, removes its files, and releases it.
	 *
	 * @param witnessed what the claimant itself saw while no host lived.
	 */
	settle(
		settlement: Settlement,
		witnessed?: readonly Incident[],
	): {
		/** Whether nothing is left to do for a later start. */
		readonly over: boolean;
		/** Where a file that was of no use is now. */
		readonly setAside?: SetAsideFile;
	};
}

/** What cleans up after a dead run. */
export type Claimant =
	/** The start of a later run: it reports what happened while no host lived, and moves the file to the history. */
	| {
			readonly kind: "reaper";
			/** The later run. */
			readonly runId: RunId;
			readonly report: (incident: Incident) => void;
	  }
	/** A process without a run of its own, as `snakepit reap`. */
	| {
			readonly kind: "command";
			readonly pid: number;
			readonly report: (incident: Incident) => void;
	  }
	/** A watchdog has no listeners: what it saw stays in the file, and the next start reports it. */
	| {
			readonly kind: "watchdog";
			/** The dead run itself. */
			readonly runId: RunId;
	  };

/** As it is written into the ledger. */
function claimantName(claimant: Claimant): string {
	const { kind } = claimant;
	return `${kind}:${kind === "command" ? claimant.pid : claimant.runId}`;
}

/** The run that cleans up; a command has none. */
export function runOfClaimant(claimant: Claimant): RunId | undefined {
	return claimant.kind === "command" ? undefined : claimant.runId;
}

/** What claiming needs. */
export interface ClaimParts {
	readonly sqlite: Sqlite;
	readonly directory: LedgerDirectory;
	readonly host: ProcessHost;
	readonly clock: Clock;
	readonly claimant: Claimant;
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
	readonly #begunAt: number;

	/**
	 * Commits the claim, before anything is done with it. Throws what SQLite throws.
	 *
	 * @param workers those that are not ended.
	 */
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
		this.#begunAt = parts.clock.now();
		this.dead = {
			ofRun: name.runId,
			owns: ownership(name, parts.host.self, parts.directory.key),
			workers,
		};
		this.#run = {
			...run,
			state: "shutting_down",
			claimedBy: claimantName(parts.claimant),
		};
		const path = runPath(parts.directory.runs, name, "db");
		this.#file = RunFile.open(parts.sqlite, path, READERS_TIMEOUT_MS);
		try {
			this.#file.writeEnds([], 0, this.#run);
		} catch (error) {
			this.#file.close("goes_on");
			throw error;
		}
	}

	get program(): HostProgram | undefined {
		return this.#run.program;
	}

	settle(
		settlement: Settlement,
		witnessed: readonly Incident[] = [],
	): { readonly over: boolean } {
		const { directory, host, claimant } = this.#parts;
		const { directory: runDirectory, runId } = this.#run;
		const { complete } = settlement;
		const over = this.#record(settlement, witnessed) && complete;
		// The evidence is removed after it is recorded.
		const { ownerKey } = this.#name;
		if (over) host.remove(directoriesOfDead(runDirectory, runId, ownerKey));
		this.#file.close(over ? "is_over" : "goes_on");
		const retired = over && claimant.kind !== "watchdog";
		if (retired) directory.retire(this.#name);
		this.#lock.release(retired ? "removed" : "kept");
		return { over };
	}

	/** What protections without a database wrote. Throws what SQLite throws. */
	#leftBehind(): readonly Incident[] {
		const { directory, runId } = this.#run;
		if (!isRunDirectory(directory, runId)) return [];
		return readIncidentFiles(directory, runId, () =>
			this.#file.ledger.workers("all"),
		);
	}

	/**
	 * Processes whose end an unfinished clean-up before reported.
	 *
	 * Of those that a reaper ended the workers alone: nothing is written of others. Throws what SQLite throws.
	 */
	#endedBefore(): readonly KilledProcess[] {
		const { ledger } = this.#file;
		return [
			...ledger.incidents
				.ofProtections(this.#run.runId, "all")
				.filter(isKilled),
			...ledger
				.workers("all")
				.flatMap(({ identity, end }) =>
					identity !== undefined && end?.killer === "reaper" ? [identity] : [],
				),
		];
	}

	/** Returns whether it could be written. */
	#record(
		{ complete, reaped, ends }: Settlement,
		witnessed: readonly Incident[],
	): boolean {
		const { clock, claimant } = this.#parts;
		const endedAt = clock.wall();
		const ended = reaped.map(({ identity }) => identity);
		try {
			// A protection may write there as long as something of the run lives.
			const left = complete ? this.#leftBehind() : [];
			const seen = [...witnessed, ...left];
			const incidents = joinIncidents(seen, [
				...(seen.length === 0 ? [] : this.#endedBefore()),
				// A watchdog's are among `witnessed`; a reaper reports them itself.
				...(claimant.kind === "watchdog" ? [] : ended),
			]);
			const run: StoredRun = {
				...this.#run,
				killed: this.#run.killed + ended.length + countKilled(incidents, ended),
				cleanupMs: (this.#run.cleanupMs ?? 0) + clock.now() - this.#begunAt,
				claimedBy: undefined,
			};
			this.#file.writeEnds(
				creditProtections(ends, this.dead.workers, left),
				endedAt,
				complete
					? {
							...run,
							state: "terminated",
							endedAt,
							clean: false,
							endedBy: this.#run.claimedBy,
						}
					: run,
				incidents,
			);
			if (claimant.kind !== "watchdog")
				reportIncidents(this.#file, run.runId, claimant.report);
			return true;
		} catch {
			return false; // The disk became full meanwhile: the next start does it again and finds nothing.
		}
	}
}

/** Reports what was not reported yet. The run's lock is held, so nothing else does. Throws what SQLite throws. */
export function reportIncidents(
	file: RunFile,
	ofRun: RunId,
	report: (incident: Incident) => void,
): void {
	const unreported = file.ledger.incidents.ofProtections(ofRun, "unreported");
	if (unreported.length === 0) return;
	file.commit((ledger) => ledger.incidents.markReported());
	for (const incident of unreported) report(incident);
}
