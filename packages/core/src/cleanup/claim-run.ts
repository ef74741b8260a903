import { existsSync } from "node:fs";
import type { SparedReason } from "../contract/events.ts";
import { directoriesOfDead } from "../os/shared-memory.ts";
import type { StoredRun } from "../registry/ledger.ts";
import { type RunContent, readRunFile } from "../registry/read-run-file.ts";
import { RunFile } from "../registry/run-file.ts";
import {
	mendLock,
	type RunLock,
	restoreLock,
	takeLock,
} from "../registry/run-lock.ts";
import { ownerKey, type RunName, runPath } from "../registry/run-name.ts";
import { MarkerClaim } from "./marker-claim.ts";
import {
	type ClaimParts,
	LedgerClaim,
	type RunClaim,
	reportIncidents,
	runOfClaimant,
} from "./run-claim.ts";
import { judgeOwner } from "./run-owner.ts";

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
	const seen = host.observe(name.ownerPid);
	if (typeof seen !== "string" && ownerKey(seen) === name.ownerKey)
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
		const seen = host.observe(run.owner.pid);
		const verdict = judgeOwner(run.owner, host.self, seen);
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
