import type { CleanupStrategy } from "../contract/cleanup-strategy.ts";
import type { SnakepitEvent } from "../contract/events.ts";
import type { RunId } from "../contract/identity.ts";
import type { CensusHost } from "../os/census.ts";
import { removeFreeLock } from "../registry/run-lock.ts";
import { formatRunName, ownerKey, type RunName } from "../registry/run-name.ts";
import { type ClaimOutcome, claimRun } from "./claim-run.ts";
import type {
	CleanupReport,
	ReapedOrphan,
	SetAsideFile,
	SparedRun,
} from "./cleanup-report.ts";
import { endOrphans } from "./end-orphans.ts";
import { UnrecordedClaim } from "./marker-claim.ts";
import type { SparedProcess } from "./orphan-search.ts";
import type { KillLimits, ProcessKiller } from "./process-killer.ts";
import { type ClaimParts, type RunClaim, runOfClaimant } from "./run-claim.ts";
import { type ReapedProcess, settle } from "./settlement.ts";
import { strategyGate } from "./strategy-gate.ts";
import { findUnrecordedRuns } from "./unrecorded-runs.ts";

export interface ReaperParts extends ClaimParts {
	readonly host: CensusHost;
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
	const { marked, guards } = parts.host.census();
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
		const { setAside: file } = claim.settle(settlement);
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
