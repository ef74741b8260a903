import type { RunId } from "../contract/identity.ts";
import {
	type Check,
	checkOptions,
	nonEmptyText,
	optional,
} from "../options/check.ts";
import {
	findStateDirectory,
	openStateDirectory,
} from "../os/state-directory.ts";
import { systemClock } from "../os/system-clock.ts";
import { thisMachine } from "../os/this-machine.ts";
import type { Incident } from "../registry/incidents.ts";
import { LedgerDirectory } from "../registry/ledger-directory.ts";
import { loadSqlite } from "../registry/sqlite.ts";
import type { CleanupReport } from "./cleanup-report.ts";
import { ProcessKiller } from "./process-killer.ts";
import { reap } from "./reaper.ts";

/** Which dead runs to clean up after. */
export interface ReapOptions {
	/** Where the ledger is; by default, in the user's state directory. */
	readonly dataDir?: string | undefined;
	/** Only this run; by default, every dead one. */
	readonly run?: string | undefined;
}

/** What was found, ended and left alone, and what protections had done before. */
export interface DeadRunsReport extends CleanupReport {
	/** What watchdogs and guards had noted of these runs, and no start had reported yet. */
	readonly incidents: readonly Incident[];
}

export const REAP_CHECKS: Readonly<Record<keyof ReapOptions, Check>> = {
	dataDir: optional(nonEmptyText),
	run: optional(nonEmptyText),
};

/**
 * Cleans up after dead runs as the start of a program does, without a run of its own: ends what they left, records how
 * they ended, and moves them to the history. Runs that may live are left alone.
 *
 * @throws OptionsError; StartError `PLATFORM_UNSUPPORTED`, `NODE_TOO_OLD` or `OUT_OF_DESCRIPTORS`; RegistryError when the
 *   ledger cannot be used.
 */
export async function reapDeadRuns(
	options: ReapOptions = {},
): Promise<DeadRunsReport> {
	checkOptions("reapDeadRuns", options, REAP_CHECKS);
	const host = thisMachine();
	const sqlite = await loadSqlite();
	const { machineId, pid } = host.self;
	const { dataDir } = options;
	// Where nothing ever ran, nothing is made.
	if (findStateDirectory(dataDir, machineId) === undefined) return NOTHING;
	const { path } = openStateDirectory(dataDir, machineId);
	const incidents: Incident[] = [];
	// The clock's timers keep no program open, and a command has nothing else to do.
	const release = host.keepAlive();
	try {
		const report = await reap({
			...{ sqlite, host, clock: systemClock, strategy: undefined },
			directory: new LedgerDirectory(path),
			killer: new ProcessKiller(host, systemClock),
			claimant: {
				...{ kind: "command", pid },
				report: (incident) => incidents.push(incident),
			},
			only: options.run as RunId | undefined,
			emit: () => {},
		});
		return { ...report, incidents };
	} finally {
		release();
	}
}

const NOTHING: DeadRunsReport = {
	...{ deadRuns: [], found: 0, reaped: [], sparedProcesses: [] },
	...{ sparedRuns: [], setAside: [], incidents: [], durationMs: 0 },
};
