import type {
	CleanupStrategy,
	FoundOrphan,
} from "../contract/cleanup-strategy.ts";
import type { Clock } from "../contract/clock.ts";
import type { SnakepitEvent, SparedReason } from "../contract/events.ts";
import {
	type Observation,
	type ProcessIdentity,
	processKey,
	type RunId,
} from "../contract/identity.ts";
import type { MarkedProcess, ProcessHost } from "../contract/world.ts";
import { withDeadline } from "../deadline.ts";
import type { SnapshotHost } from "../os/descendants.ts";
import { removeFreeLock } from "../registry/run-lock.ts";
import {
	formatRunName,
	ownerKey,
	type RunName,
	runNameOf,
} from "../registry/run-name.ts";
import type {
	CleanupReport,
	ReapedOrphan,
	ReapedProcess,
	SetAsideFile,
	SparedRun,
} from "./cleanup-report.ts";
import { endOrphans } from "./end-orphans.ts";
import type { DeadRun, Orphan, SparedProcess } from "./orphan-search.ts";
import type { KillLimits, ProcessKiller } from "./process-killer.ts";
import {
	type ClaimOutcome,
	type ClaimParts,
	claimRun,
	judgeOwner,
	ownerOf,
	ownership,
	programEndOf,
	type RunClaim,
	runOfClaimant,
	settle,
	UnrecordedClaim,
} from "./run-claim.ts";

export interface ReaperParts extends ClaimParts {
	readonly host: SnapshotHost;
	readonly killer: ProcessKiller;
	readonly strategy: CleanupStrategy | undefined;
	/** Only this run; every dead one when left out. */
	readonly only?: RunId | undefined;
	readonly emit: (event: SnakepitEvent) => void;
}

/** A short grace, since nothing uses what an orphan still finishes; then the deadline for those that cannot die. */
const ORPHAN_LIMITS: KillLimits = { graceMs: 500, deadlineMs: 5_000 };
/** Far longer than a run needs from its lock to its file. */
const STRAY_LOCK_AGE_MS = 60_000;

/**
 * Cleans up after every dead run of a directory: claims it, then ends what is
 * left of it, then records its end. What carries the marker of a run without a
 * record is ended too, when its owner is gone. Runs that may live are left alone.
 *
 * One that is killed in the middle leaves the rest to the next start.
 */
export async function reap(parts: ReaperParts): Promise<CleanupReport> {
	const { clock } = parts;
	const begunAt = clock.now();
	const send = sender(parts);
	const isWanted = wantedBy(parts);
	const runId = runOfClaimant(parts.claimant);
	if (runId !== undefined) send({ type: "cleanup.started", runId });
	removeStrayLocks(parts);

	const { claims: recorded, sparedRuns, known } = claimAll(parts);
	for (const { runId, reason } of sparedRuns)
		send({ type: "run.spared", ofRun: runId, reason });
	const { marked, guards } = parts.host.snapshot();
	const unrecorded = findUnrecordedRuns({
		marked: [...marked, ...guards],
		directoryKey: parts.directory.key,
		self: parts.host.self,
		isKnown: (name) => !isWanted(name) || known.has(formatRunName(name)),
		observe: (pid) => parts.host.observe(pid),
	});
	const claims = [
		...recorded,
		...unrecorded.dead.map((run) => new UnrecordedClaim(parts, run)),
	];
	const { results, spared } = await endOrphans(
		parts,
		claims.filter((claim) => claim.mayLive).map((claim) => claim.dead),
		{ limits: ORPHAN_LIMITS, admits: strategyGate(parts) },
	);

	const reaped: ReapedOrphan[] = [];
	const sparedProcesses: SparedProcess[] = [...unrecorded.spared];
	for (const process of unrecorded.spared)
		send({ type: "orphan.spared", ...process });
	const setAside: SetAsideFile[] = [];
	for (const claim of claims) {
		const { ofRun, workers } = claim.dead;
		const settlement = settle(ofRun, workers, results, spared, {
			boot: claim.mayLive ? "same" : "other",
		});
		const program = claim.program?.name;
		const orphans = settlement.reaped.map((process) =>
			reapedOrphan(process, program),
		);
		reaped.push(...orphans);
		sparedProcesses.push(...settlement.spared);
		for (const orphan of orphans) send({ type: "orphan.reaped", ...orphan });
		for (const orphan of settlement.spared)
			send({ type: "orphan.spared", ...orphan });
		const death = await programEndOf(claim, parts.host);
		send({ type: "run.found_dead", ofRun, program, end: death });
		const { setAside: file } = claim.settle(settlement, [], death);
		if (file === undefined) continue;
		setAside.push(file);
		send({ type: "registry.set_aside", ...file });
	}

	const report: CleanupReport = {
		deadRuns: claims.map((claim) => claim.dead.ofRun),
		found: reaped.length + sparedProcesses.length,
		reaped,
		sparedProcesses,
		sparedRuns,
		setAside,
		durationMs: clock.now() - begunAt,
	};
	if (runId === undefined) return report;
	send({
		type: "cleanup.finished",
		runId,
		durationMs: report.durationMs,
		deadRuns: report.deadRuns.length,
		found: report.found,
		killed: reaped.length,
		spared: sparedProcesses.length,
	});
	return report;
}

function claimAll(parts: ReaperParts): {
	readonly claims: readonly RunClaim[];
	readonly sparedRuns: readonly SparedRun[];
	/** Runs of which the record says what becomes of them, by {@link formatRunName}. */
	readonly known: ReadonlySet<string>;
} {
	const claims: RunClaim[] = [];
	const sparedRuns: SparedRun[] = [];
	const known = new Set<string>();
	const ownKey = ownerKey(parts.host.self);
	const isWanted = wantedBy(parts);
	for (const name of parts.directory.openRuns()) {
		// Of this very process: its other threads, or a second copy of this package.
		if (name.ownerKey === ownKey || !isWanted(name)) continue;
		const outcome = claimRun(parts, name);
		if (outcome.kind === "claimed") claims.push(outcome.claim);
		if (outcome.kind === "spared")
			sparedRuns.push({ runId: name.runId, reason: outcome.reason });
		if (!isWithoutRecord(outcome)) known.add(formatRunName(name));
	}
	return { claims, sparedRuns, known };
}

function wantedBy({ only }: ReaperParts): (name: RunName) => boolean {
	return ({ runId }) => only === undefined || runId === only;
}

/** What cannot be read says nothing, and of a run that is over nothing was to be left. */
function isWithoutRecord(outcome: ClaimOutcome): boolean {
	return (
		outcome.kind === "over" ||
		(outcome.kind === "spared" && outcome.reason === "unreadable")
	);
}

function reapedOrphan(
	{ ofRun, pid, how, foundBy }: ReapedProcess,
	program: string | undefined,
): ReapedOrphan {
	return { ofRun, program, pid, how, foundBy };
}

/** A lock without a run protects nothing: its owner died between the two. */
function removeStrayLocks(parts: ReaperParts): void {
	const { sqlite, directory, clock, host } = parts;
	const isWanted = wantedBy(parts);
	const isOwn = (name: RunName): boolean =>
		name.ownerKey === ownerKey(host.self);
	for (const name of directory.strayLocks(clock.wall(), STRAY_LOCK_AGE_MS)) {
		if (isOwn(name) || !isWanted(name)) continue;
		removeFreeLock({ sqlite, directory }, name);
	}
}

type Untimed<Event> = Event extends unknown ? Omit<Event, "wallMs"> : never;

function sender({
	clock,
	emit,
}: ReaperParts): (event: Untimed<SnakepitEvent>) => void {
	return (event) => emit({ wallMs: clock.wall(), ...event } as SnakepitEvent);
}

/** A dead run that is known by the markers of its processes alone. */
export interface UnrecordedRun {
	readonly name: RunName;
	readonly dead: DeadRun;
}

export interface UnrecordedRuns {
	readonly dead: readonly UnrecordedRun[];
	/** Processes whose owner cannot be judged from here. */
	readonly spared: readonly SparedProcess[];
}

export interface UnrecordedSearch {
	readonly marked: readonly MarkedProcess[];
	/** Names the data directory in which this start cleans up. */
	readonly directoryKey: string;
	readonly self: ProcessIdentity;
	/** Whether the record of a run decides already what becomes of it. */
	readonly isKnown: (name: RunName) => boolean;
	readonly observe: (pid: number) => Observation;
}

/** Reasons to spare a process without a record that are worth an event: a living owner takes care of its own. */
const REPORTED: ReadonlySet<SparedReason> = new Set([
	"other_pid_namespace",
	"identity_unknown",
]);

/**
 * Finds the runs of one data directory that left processes and no record that
 * could be used: their files were removed, or cannot be read or locked. The
 * marker names the owner; one that is provably gone has left orphans.
 */
export function findUnrecordedRuns({
	marked,
	directoryKey,
	self,
	isKnown,
	observe,
}: UnrecordedSearch): UnrecordedRuns {
	const dead = new Map<string, UnrecordedRun>();
	const spared: SparedProcess[] = [];
	for (const { marker, identity } of marked) {
		if (marker.directoryKey !== directoryKey) continue;
		const owner = ownerOf(marker, self);
		const name = runNameOf(marker.runId, owner);
		const key = formatRunName(name);
		if (dead.has(key) || isKnown(name)) continue;
		const verdict = judgeOwner(owner, self, observe(owner.pid));
		if (verdict === "dead") {
			const owns = ownership(name, self, directoryKey);
			dead.set(key, {
				name,
				dead: { ofRun: marker.runId, owns, workers: [] },
			});
			continue;
		}
		// A process that lives carries no true marker of another boot.
		if (verdict === "dead_with_its_boot" || !REPORTED.has(verdict.spared))
			continue;
		const { pid } = identity;
		spared.push({ ofRun: marker.runId, pid, reason: verdict.spared });
	}
	return { dead: [...dead.values()], spared };
}

/** Longer than a service needs to answer a question. Nothing else of the program has started meanwhile. */
const ANSWER_MS = 10_000;

interface StrategyGateParts {
	readonly strategy: CleanupStrategy | undefined;
	readonly host: Pick<ProcessHost, "keepAlive">;
	readonly clock: Clock;
	readonly emit: (event: SnakepitEvent) => void;
}

/**
 * Asks the user's strategy once about each orphan, and returns whether the orphan is ended. One that throws is
 * reported, and the orphan is ended. One that does not answer in time is reported and not asked again: what it has not
 * decided is spared, because a kill cannot be undone.
 */
function strategyGate({
	strategy,
	host,
	clock,
	emit,
}: StrategyGateParts): (orphan: Orphan) => Promise<boolean> {
	if (strategy === undefined) return async () => true;
	const answers = new Map<string, boolean>();
	let silent = false;
	const report = (error: unknown): void =>
		emit({
			type: "listener.threw",
			wallMs: clock.wall(),
			of: "cleanup",
			error,
		});
	const ask = async (orphan: FoundOrphan): Promise<boolean> => {
		// The timer does not, and a promise that never settles does not either.
		const release = host.keepAlive();
		try {
			const answer = await withDeadline(
				Promise.resolve(strategy(orphan)),
				{ clock, ms: ANSWER_MS, counts: "running" },
				() => "late" as const,
			);
			if (answer !== "late") return answer !== "spare";
			silent = true;
			report(noAnswer(orphan));
			return false;
		} catch (error) {
			report(error);
			return true;
		} finally {
			release();
		}
	};
	return async (orphan) => {
		const { ofRun, pid, foundBy, incarnation, fingerprint } = orphan;
		const key = processKey(orphan.identity);
		const answer =
			answers.get(key) ??
			(!silent &&
				(await ask({ ofRun, pid, foundBy, incarnation, fingerprint })));
		answers.set(key, answer);
		return answer;
	};
}

function noAnswer({ pid, ofRun }: FoundOrphan): Error {
	return new Error(
		`cleanup was asked about process ${pid} of the dead run ${ofRun} and did not answer within ${ANSWER_MS / 1000} s. ` +
			"That process, and those that it was not asked about yet, are spared; the next start asks again. " +
			'Return "reap" or "spare" sooner, for example with a deadline of your own.',
	);
}
