import { existsSync } from "node:fs";
import type { SparedReason } from "../events.ts";
import { type RunContent, RunFile, readRunFile } from "../registry/run-file.ts";
import { type RunLock, restoreLock, takeLock } from "../registry/run-lock.ts";
import { ownerKey, type RunName, runPath } from "../registry/run-name.ts";
import { judgeOwner } from "./owner-liveness.ts";
import {
	type ClaimParts,
	LedgerClaim,
	MarkerClaim,
	type RunClaim,
} from "./run-claim.ts";

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
	// Nothing is proven by a lock that was lost, but a new one keeps others away.
	const lost = attempt === "missing" && existsSync(path);
	if (lost) attempt = restoreLock(sqlite, lockPath);
	if (attempt === "missing") return { kind: "over" };
	if (attempt === "held") return spared(reasonToHold(parts, path, name));
	if (attempt === "refused") return spared("unreadable");
	const outcome = claimLocked(parts, name, attempt, path);
	if (outcome.kind !== "claimed")
		attempt.release(lost || outcome.kind === "over" ? "removed" : "kept");
	return outcome;
}

/** Somebody holds the lock: its owner, whom we cannot see from here, or who cleans up after it. */
function reasonToHold(
	{ sqlite }: ClaimParts,
	path: string,
	name: RunName,
): SparedReason {
	const content = readRunFile(sqlite, path, name);
	return content.kind === "readable" && content.run.claimedBy !== undefined
		? "claimed_by_another"
		: "owner_alive";
}

function claimLocked(
	parts: ClaimParts,
	name: RunName,
	lock: RunLock,
	path: string,
): ClaimOutcome {
	const content = readRunFile(parts.sqlite, path, name);
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
	const { directory, host, sqlite } = parts;
	if (isClaimedBesideUs(parts, run.claimedBy))
		return spared("claimed_by_another");
	try {
		if (run.state === "terminated") {
			// Its owner ended it while somebody read it, so its last changes are in a second file still.
			const path = runPath(directory.runs, name, "db");
			RunFile.open(sqlite, path).close("is_over");
			directory.retire(name);
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
				runId !== claimant &&
				claimedBy === `reaper:${runId}`,
		);
}

function claimed(claim: RunClaim): ClaimOutcome {
	return { kind: "claimed", claim };
}

function spared(reason: SparedReason): ClaimOutcome {
	return { kind: "spared", reason };
}
