import { existsSync } from "node:fs";
import type { Clock } from "../contract/clock.ts";
import type { SnakepitEvent, SparedReason } from "../contract/events.ts";
import {
	compareIdentity,
	type Marker,
	type Observation,
	type ProcessIdentity,
	type RunId,
} from "../contract/identity.ts";
import {
	type HostProgram,
	type Killer,
	type ProgramEnd,
	UNKNOWN_END,
	type WorkerEnd,
	type WorkerRecord,
} from "../contract/process-registry.ts";
import type { ProcessHost } from "../contract/world.ts";
import { findRunDirectories, isRunDirectory } from "../os/private-directory.ts";
import { directoriesOf, directoriesOfDead } from "../os/shared-memory.ts";
import { type RunContent, readRunFile } from "../registry/history.ts";
import { readIncidentFiles } from "../registry/incident-files.ts";
import {
	countKilled,
	type HostIncident,
	type Incident,
	isKilled,
	joinIncidents,
	type KilledProcess,
} from "../registry/incidents.ts";
import type { StoredRun } from "../registry/ledger.ts";
import type { LedgerDirectory } from "../registry/ledger-directory.ts";
import { READERS_TIMEOUT_MS, RunFile } from "../registry/run-file.ts";
import {
	mendLock,
	type RunLock,
	removeFreeLock,
	restoreLock,
	takeLock,
} from "../registry/run-lock.ts";
import { ownerKey, type RunName, runPath } from "../registry/run-name.ts";
import type { Sqlite } from "../registry/sqlite.ts";
import type {
	ReapedOrphan,
	ReapedProcess,
	SetAsideFile,
} from "./cleanup-report.ts";
import type {
	DeadRun,
	Orphan,
	SoughtWorker,
	SparedProcess,
} from "./orphan-search.ts";
import type { Fate, KillResult } from "./process-killer.ts";
import type { UnrecordedRun } from "./reaper.ts";

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
	/** The run as its record has it; `undefined` where there is none. */
	readonly recorded: Pick<StoredRun, "owner" | "programEnd"> | undefined;
	/**
	 * Records what became of the run, removes its files, and releases it.
	 *
	 * @param observed what the claimant itself saw while no host lived.
	 * @param programEnd how the program ended, where the claimant knows more than the record.
	 */
	settle(
		settlement: Settlement,
		observed?: readonly Incident[],
		programEnd?: ProgramEnd,
	): {
		/** Whether nothing is left to do for a later start. */
		readonly over: boolean;
		/** Where a file that was of no use is now. */
		readonly setAside?: SetAsideFile;
	};
}

/** What cleans up after a dead run. */
type Claimant =
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
class LedgerClaim implements RunClaim {
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

	get recorded(): Pick<StoredRun, "owner" | "programEnd"> {
		return this.#run;
	}

	settle(
		settlement: Settlement,
		observed: readonly Incident[] = [],
		programEnd: ProgramEnd | undefined = this.#run.programEnd,
	): { readonly over: boolean } {
		const { directory, host, claimant } = this.#parts;
		const { directory: runDirectory, runId } = this.#run;
		const { complete } = settlement;
		const over = this.#record(settlement, observed, programEnd) && complete;
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
		observed: readonly Incident[],
		programEnd: ProgramEnd | undefined,
	): boolean {
		const { clock, claimant } = this.#parts;
		const endedAt = clock.wall();
		const ended = reaped.map(({ identity }) => identity);
		try {
			// A protection may write there as long as something of the run lives: only then all of it is known.
			const left = this.#leftBehind();
			const seen = complete ? [...observed, ...left] : observed;
			const incidents = joinIncidents(seen, [
				...(seen.length === 0 ? [] : this.#endedBefore()),
				// A watchdog's are among `observed`; a reaper reports them itself.
				...(claimant.kind === "watchdog" ? [] : ended),
			]);
			const run: StoredRun = {
				...this.#run,
				killed: this.#run.killed + ended.length + countKilled(incidents, ended),
				cleanupMs: (this.#run.cleanupMs ?? 0) + clock.now() - this.#begunAt,
				claimedBy: undefined,
				programEnd,
			};
			this.#file.writeEnds(
				creditProtections(ends, this.dead.workers, [...observed, ...left]),
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
function reportIncidents(
	file: RunFile,
	ofRun: RunId,
	report: (incident: Incident) => void,
): void {
	const unreported = file.ledger.incidents.ofProtections(ofRun, "unreported");
	if (unreported.length === 0) return;
	file.commit((ledger) => ledger.incidents.markReported());
	for (const incident of unreported) report(incident);
}

/** What became of the attempt to claim a run. */
export type ClaimOutcome =
	| { readonly kind: "claimed"; readonly claim: RunClaim }
	| { readonly kind: "spared"; readonly reason: SparedReason }
	/** Nothing is left to do for it. */
	| { readonly kind: "over" };

/**
 * Claims a run if its owner is provably gone.
 *
 * Looks from the harmless to the telling: at the owner's pid, which the file
 * name has; at the lock; at the content. The files of a living owner of this
 * machine are never opened.
 */
export function claimRun(parts: ClaimParts, name: RunName): ClaimOutcome {
	const { directory, host, sqlite } = parts;
	const observation = host.observe(name.ownerPid);
	if (
		typeof observation !== "string" &&
		ownerKey(observation) === name.ownerKey
	)
		return spared("owner_alive");
	const path = runPath(directory.runs, name, "db");
	const lockPath = runPath(directory.runs, name, "lock");
	let attempt = takeLock(sqlite, lockPath);
	// A lost lock proves nothing, but a new one keeps others away.
	const lost = attempt === "missing" && existsSync(path);
	if (lost) attempt = restoreLock(sqlite, lockPath);
	if (attempt === "refused")
		attempt = mendLock(sqlite, lockPath, directory.lockAside(name));
	if (attempt === "missing") return { kind: "over" };
	if (attempt === "held") return outcomeOfHeld(parts, path, name);
	if (attempt === "refused") return spared("unreadable");
	const outcome = claimLocked(parts, name, attempt, path);
	if (outcome.kind !== "claimed")
		attempt.release(lost || outcome.kind === "over" ? "removed" : "kept");
	return outcome;
}

/** The lock is held: by its owner, which cannot be seen from here, or by what cleans up after it. */
function outcomeOfHeld(
	{ sqlite }: ClaimParts,
	path: string,
	name: RunName,
): ClaimOutcome {
	const content = readRunFile(sqlite, path, name, "none");
	if (content.kind !== "readable") return spared("owner_alive");
	const { state, claimedBy } = content.run;
	// Another start is moving it to the history.
	if (state === "terminated") return { kind: "over" };
	return spared(claimedBy === undefined ? "owner_alive" : "claimed_by_another");
}

function claimLocked(
	parts: ClaimParts,
	name: RunName,
	lock: RunLock,
	path: string,
): ClaimOutcome {
	const content = readRunFile(parts.sqlite, path, name, "living");
	switch (content.kind) {
		case "unreadable":
			return spared("unreadable");
		case "unusable":
			return claimed(new MarkerClaim(parts, name, lock, content.reason));
		case "readable":
			return claimReadable(parts, name, lock, content);
	}
}

function claimReadable(
	parts: ClaimParts,
	name: RunName,
	lock: RunLock,
	{ run, workers }: Extract<RunContent, { readonly kind: "readable" }>,
): ClaimOutcome {
	const { host } = parts;
	if (isClaimedBesideUs(parts, run.claimedBy))
		return spared("claimed_by_another");
	try {
		if (run.state === "terminated") {
			finish(parts, name, run);
			return { kind: "over" };
		}
		const observation = host.observe(run.owner.pid);
		const verdict = judgeOwner(run.owner, host.self, observation);
		if (typeof verdict === "object") return spared(verdict.spared);
		const mayLive = verdict === "dead";
		return claimed(new LedgerClaim(parts, name, lock, run, workers, mayLive));
	} catch {
		return spared("unreadable"); // It can be read and not be written: without a recorded claim nothing is done.
	}
}

/**
 * Finishes a run that is recorded as over: reports what a watchdog wrote into
 * it, removes its directory if that was not done, and moves it to the history.
 * Throws what SQLite throws.
 */
function finish(parts: ClaimParts, name: RunName, run: StoredRun): void {
	const { sqlite, directory, host, claimant } = parts;
	if (claimant.kind === "watchdog") return;
	const file = RunFile.open(sqlite, runPath(directory.runs, name, "db"));
	try {
		reportIncidents(file, run.runId, claimant.report);
	} finally {
		// Its owner may have ended it while another program read it: its last changes are still in a second file.
		file.close("is_over");
	}
	host.remove(directoriesOfDead(run.directory, run.runId, name.ownerKey));
	directory.retire(name);
}

/** Locks do not hold between two copies of SQLite in one process, as two copies of this package bring. */
function isClaimedBesideUs(
	{ directory, host, claimant }: ClaimParts,
	claimedBy: string | undefined,
): boolean {
	const ownKey = ownerKey(host.self);
	return directory
		.openRuns()
		.some(
			({ runId, ownerKey }) =>
				ownerKey === ownKey &&
				runId !== runOfClaimant(claimant) &&
				claimedBy === `reaper:${runId}`,
		);
}

function claimed(claim: RunClaim): ClaimOutcome {
	return { kind: "claimed", claim };
}

function spared(reason: SparedReason): ClaimOutcome {
	return { kind: "spared", reason };
}

/** Whether a run may be cleaned up after. */
type OwnerVerdict =
	/** Its owner is provably gone. */
	| "dead"
	/** So is the boot that it lived in, and with it every process of it. */
	| "dead_with_its_boot"
	| { readonly spared: SparedReason };

/**
 * Decides by identity whether a run's owner is provably gone. Asked once its
 * lock was free: only both together are a proof.
 *
 * A live instance is never touched, and what cannot be decided from here is
 * reported and left alone.
 */
export function judgeOwner(
	owner: ProcessIdentity,
	self: ProcessIdentity,
	observed: Observation,
): OwnerVerdict {
	if (owner.machineId !== self.machineId) return { spared: "other_machine" };
	if (owner.bootId !== self.bootId) return "dead_with_its_boot";
	if (owner.pidNamespace !== self.pidNamespace)
		return { spared: "other_pid_namespace" };
	const verdict = compareIdentity(owner, self, observed);
	if (verdict === "same") return { spared: "owner_alive" };
	return verdict === "gone" ? "dead" : { spared: "identity_unknown" };
}

/**
 * A marker belongs to a run when it names the run, its data directory and the
 * very process that owned it: two directories may have the same run id. One from another pid
 * namespace says nothing that can be judged from here.
 */
export function ownership(
	name: RunName,
	self: ProcessIdentity,
	directoryKey: string,
): (marker: Marker) => boolean {
	return (marker) =>
		marker.runId === name.runId &&
		marker.directoryKey === directoryKey &&
		marker.pidNamespace === self.pidNamespace &&
		ownerKey(ownerOf(marker, self)) === name.ownerKey;
}

/** The process that a marker names as the owner of its run, as it would be on the machine of `self`. */
export function ownerOf(
	marker: Marker,
	self: ProcessIdentity,
): ProcessIdentity {
	return {
		machineId: self.machineId,
		bootId: marker.bootId,
		pidNamespace: marker.pidNamespace,
		pid: marker.hostPid,
		startTime: marker.hostStartTime,
	};
}

/** Claims a run whose file is of no use: its processes are known by their marker alone. */
class MarkerClaim implements RunClaim {
	readonly dead: DeadRun;
	readonly program = undefined;
	readonly recorded = undefined;
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

interface UnrecordedParts extends ClaimParts {
	readonly emit: (event: SnakepitEvent) => void;
}

/**
 * Cleans up after a run without a record. No lock keeps other starts away: of
 * two that end the same process each proves before every signal which it is.
 */
export class UnrecordedClaim implements RunClaim {
	readonly dead: DeadRun;
	readonly program = undefined;
	readonly recorded = undefined;
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

/**
 * How the program of a run died that recorded no end of its own, as far as that can be found out now; otherwise what it
 * recorded.
 *
 * @param boot in which it lived.
 */
export async function deathOf(
	{ owner, programEnd }: Pick<StoredRun, "owner" | "programEnd">,
	boot: "same" | "other",
	host: Pick<ProcessHost, "killedForMemory">,
): Promise<ProgramEnd | undefined> {
	if (programEnd?.how !== undefined) return programEnd;
	const known = programEnd ?? UNKNOWN_END;
	if (boot === "other") return { ...known, how: "machine_restarted" };
	const kill = await host.killedForMemory(owner, "other");
	return kill?.kind === "killed"
		? { ...known, how: "out_of_memory", detail: kill.evidence }
		: programEnd;
}

/** The same of a claimed run; `undefined` where no record says what its program was. */
export async function programEndOf(
	{ recorded, mayLive }: RunClaim,
	host: Pick<ProcessHost, "killedForMemory">,
): Promise<ProgramEnd | undefined> {
	if (recorded === undefined) return undefined;
	return await deathOf(recorded, mayLive ? "same" : "other", host);
}

/** What is known of one dead run after its processes were ended. */
export interface Settlement {
	readonly reaped: readonly ReapedProcess[];
	readonly spared: readonly SparedProcess[];
	/** Rows that are over now. */
	readonly ends: readonly {
		readonly incarnation: string;
		readonly end: Pick<WorkerEnd, "reason" | "killer">;
	}[];
	/** Whether nothing of the run is left; otherwise the next start looks again. */
	readonly complete: boolean;
}

/** Why a process is still there, by what became of the attempt. */
const SPARED: Readonly<
	Record<Exclude<Fate, ReapedOrphan["how"]>, SparedReason>
> = {
	refused: "signal_refused",
	survived: "survived_kill",
	protected: "own_ancestor",
};

export function spareReason(fate: keyof typeof SPARED): SparedReason {
	return SPARED[fate];
}

/**
 * How a worker ended that is gone, as its host is, which did not record its end.
 * The kernel ends a worker with a lifeline in the moment in which its host dies.
 *
 * @param boot of the worker: with the machine everything ends.
 */
export function endOfGone(
	{ lifeline }: Pick<SoughtWorker, "lifeline">,
	boot: "same" | "other",
): Pick<WorkerEnd, "reason" | "killer"> {
	return lifeline === "listening" && boot === "same"
		? { reason: "host_died", killer: "lifeline" }
		: { reason: "vanished", killer: "unknown" };
}

/** Decides how a dead run is recorded. */
export function settle(
	ofRun: RunId,
	workers: DeadRun["workers"],
	results: readonly KillResult<Orphan>[],
	sparedBefore: readonly SparedProcess[],
	{
		killer = "reaper",
		boot = "same",
	}: { readonly killer?: Killer; readonly boot?: "same" | "other" } = {},
): Settlement {
	const reaped: ReapedProcess[] = [];
	const spared: SparedProcess[] = sparedBefore.filter(
		(process) => process.ofRun === ofRun,
	);
	for (const { target, fate } of results) {
		if (target.ofRun !== ofRun) continue;
		const { pid, foundBy, identity, incarnation } = target;
		if (fate === "ended_on_term" || fate === "killed")
			reaped.push({ ofRun, pid, how: fate, foundBy, identity, incarnation });
		else spared.push({ ofRun, pid, reason: spareReason(fate) });
	}
	const ends = workers
		.filter(({ identity }) => !hasPid(spared, identity?.pid))
		.map((worker) => ({
			incarnation: worker.incarnation,
			end: hasPid(reaped, worker.identity?.pid)
				? ({ reason: "reaped", killer } as const)
				: endOfGone(worker, boot),
		}));
	return { reaped, spared, ends, complete: spared.length === 0 };
}

/** How a worker of a dead run ended, and when, where that is known: its clean-up may be long after. */
interface DatedEnd {
	readonly incarnation: string;
	readonly end: Pick<WorkerEnd, "reason" | "killer">;
	/** When a protection ended it; `undefined`: no protection did. */
	readonly endedAt: number | undefined;
}

/** Records the protection that killed a worker before its run was settled, and when it did that. */
export function creditProtections(
	ends: Settlement["ends"],
	workers: DeadRun["workers"],
	incidents: readonly (Incident | HostIncident)[],
): readonly DatedEnd[] {
	return ends.map(({ incarnation, end }) => {
		const row = workers.find((worker) => worker.incarnation === incarnation);
		const times = incidents.flatMap((incident) =>
			incident.type === "protection.process_killed" &&
			incident.incarnation === incarnation &&
			isProcess(incident, row?.identity)
				? [incident.wallMs]
				: [],
		);
		if (times.length === 0 || end.killer === "reaper")
			return { incarnation, end, endedAt: undefined };
		return {
			incarnation,
			end: { reason: "reaped", killer: "protection" },
			endedAt: Math.min(...times),
		};
	});
}

/** Whether a protection killed this very process; older guards did not write its start time. */
function isProcess(
	{ pid, startTime }: KilledProcess,
	identity: ProcessIdentity | undefined,
): boolean {
	return (
		pid === identity?.pid &&
		(startTime === undefined || startTime === identity.startTime)
	);
}

function hasPid(
	processes: readonly { readonly pid: number }[],
	pid: number | undefined,
): boolean {
	return processes.some((process) => process.pid === pid);
}
