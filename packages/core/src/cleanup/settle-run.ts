import type { Clock } from "../contract/clock.ts";
import type { SparedReason } from "../contract/events.ts";
import type { ProcessIdentity, RunId } from "../contract/identity.ts";
import type { SnapshotHost } from "../os/descendants.ts";
import type { Incident } from "../registry/incidents.ts";
import { LedgerDirectory } from "../registry/ledger-directory.ts";
import { runNameOf } from "../registry/run-name.ts";
import { loadSqlite } from "../registry/sqlite.ts";
import type { ReapedProcess } from "./cleanup-report.ts";
import { endOrphans } from "./end-orphans.ts";
import type { Orphan, SparedProcess } from "./orphan-search.ts";
import type {
	KillLimits,
	KillResult,
	ProcessKiller,
} from "./process-killer.ts";
import { claimRun, programEndOf, settle } from "./run-claim.ts";

export interface SettleRunParts {
	readonly dataDir: string;
	readonly runId: RunId;
	/** The host that is dead. */
	readonly owner: ProcessIdentity;
	readonly host: SnapshotHost;
	readonly killer: ProcessKiller;
	readonly clock: Clock;
	readonly limits: KillLimits;
	/** What was ended before the run was claimed; nothing when left out. */
	readonly ended?: readonly KillResult<Orphan>[];
	/**
	 * Returns what the next start is to report. Called once, when
	 * everything that could be ended is ended and before the run is settled.
	 */
	readonly incidents: (end: SettledRun) => readonly Incident[];
}

/** What was ended of a run, and what had to be left. */
export interface SettledRun {
	readonly reaped: readonly ReapedProcess[];
	readonly spared: readonly SparedProcess[];
}

/** What became of the run. */
export type RunSettlement =
	/** Its end is recorded, and the next start reports it. */
	| ({ readonly kind: "settled" } & SettledRun)
	/** Something of it is left, or its end could not be written: the next start looks again. */
	| ({ readonly kind: "unfinished" } & SettledRun)
	/** It was not claimed: its owner may live, or something else cleans up. Nothing was done. */
	| { readonly kind: "spared"; readonly reason: SparedReason }
	/** It is over already. */
	| { readonly kind: "over" };

/**
 * Cleans up after one dead run in the name of its watchdog: claims it, ends
 * what is left of it until nothing is, and records its end and what was seen.
 *
 * @throws RegistryError or StartError when the ledger cannot be used at all.
 */
export async function settleRun(parts: SettleRunParts): Promise<RunSettlement> {
	const { runId, owner, host, killer, clock, limits, ended = [] } = parts;
	const sqlite = await loadSqlite();
	const outcome = claimRun(
		{
			sqlite,
			directory: new LedgerDirectory(parts.dataDir),
			host,
			clock,
			claimant: { kind: "watchdog", runId },
		},
		runNameOf(runId, owner),
	);
	if (outcome.kind !== "claimed") return outcome;
	const { claim } = outcome;
	const { dead, mayLive } = claim;
	const result = await endOrphans(
		{ host, killer, clock },
		mayLive ? [dead] : [],
		{
			limits,
			admits: async () => true,
		},
	);
	const { spared } = result;
	const results = [...ended, ...result.results];
	const settlement = settle(runId, dead.workers, results, spared, {
		killer: "protection",
	});
	const { reaped } = settlement;
	const end: SettledRun = { reaped, spared: settlement.spared };
	const death = await programEndOf(claim, host);
	const { over } = claim.settle(settlement, parts.incidents(end), death);
	return { kind: over ? "settled" : "unfinished", ...end };
}
