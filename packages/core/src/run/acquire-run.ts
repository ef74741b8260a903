import { realpathSync } from "node:fs";
import type { AuditRule } from "../audit/auditor.ts";
import type { CleanupStrategy } from "../cleanup/cleanup-strategy.ts";
import { StartError } from "../errors.ts";
import type { SnakepitEvent } from "../events.ts";
import { DEFAULTS } from "../option-defaults.ts";
import { SystemProcessHost } from "../os/process-host.ts";
import { openStateDirectory } from "../os/state-directory.ts";
import { systemClock } from "../os/system-clock.ts";
import { systemRandom } from "../os/system-random.ts";
import { describedRefusal } from "../os/system-refusal.ts";
import type { Protection } from "../protection.ts";
import { HISTORY_BOUND, type HistoryBound } from "../registry/history-bound.ts";
import type {
	ProcessRegistry,
	RunRecord,
} from "../registry/process-registry.ts";
import { loadSqlite } from "../registry/sqlite.ts";
import type { Clock } from "../world.ts";
import type { RunHandle } from "./run-handle.ts";
import { SharedRun } from "./shared-run.ts";
import { startRun } from "./start-run.ts";

/** How a share in a run is taken. */
export interface AcquireRunOptions {
	/** Where the ledger is; the user's state directory when `undefined`. */
	readonly dataDir: string | undefined;
	/** Only the strategy of whoever starts the run is asked: for those who join the clean-up is over. */
	readonly strategy: CleanupStrategy | undefined;
	/** Engaged for this holder, if they are not yet; none when left out. */
	readonly protections?: readonly Protection[] | undefined;
	/** How much of the past is kept; only that of whoever starts the run is asked. As the options of a pool when left out. */
	readonly history?: HistoryBound | undefined;
	/** How often the run is audited, and what becomes of strays; as the options of a pool when left out. */
	readonly audit?: AuditRule | undefined;
	/** Hears the events of the run. */
	readonly emit: (event: SnakepitEvent) => void;
}

const DEFAULT_AUDIT: AuditRule = {
	intervalMs: DEFAULTS["audit.intervalMs"].value,
	strays: DEFAULTS["audit.strays"].value,
};

/** By data directory: this process has at most one run in each. */
const sharedRuns = new Map<string, SharedRun>();
let machine: SystemProcessHost | undefined;

/**
 * Takes a share in this process's run in a data directory, and starts it if
 * there is none: it is in the ledger, and everything that dead runs left behind
 * is ended, before the promise resolves. Events of the run go to every holder.
 *
 * @throws StartError `PLATFORM_UNSUPPORTED`, `NODE_TOO_OLD`, `OUT_OF_DESCRIPTORS`,
 *   `RUNTIME_DIRECTORY_UNSAFE`, `RUNTIME_DIRECTORY_UNWRITABLE` or `SOCKET_PATH_TOO_LONG`; RegistryError when the
 *   ledger cannot be used; StartError `PROTECTION_UNAVAILABLE` where a protection insists.
 */
export async function acquireRun({
	dataDir,
	strategy,
	protections = [],
	audit = DEFAULT_AUDIT,
	history = HISTORY_BOUND,
	emit,
}: AcquireRunOptions): Promise<RunHandle> {
	assertPlatform(process.platform);
	const sqlite = await loadSqlite();
	const host = thisMachine();
	const state = openStateDirectory(dataDir, host.self.machineId);
	const path = realpathSync(state.path);
	if (state.relocated !== undefined)
		emit({
			type: "registry.relocated",
			wallMs: systemClock.wall(),
			path,
			reason: state.relocated,
		});
	const run =
		sharedRuns.get(path) ??
		new SharedRun({
			host,
			clock: systemClock,
			random: systemRandom,
			start: (emitToAll) =>
				startRun({
					sqlite,
					host,
					clock: systemClock,
					random: systemRandom,
					dataDir: path,
					strategy,
					history,
					emit: emitToAll,
				}),
			// Once for each: whoever comes later makes another.
			onOver: () => void sharedRuns.delete(path),
		});
	sharedRuns.set(path, run);
	return run.acquire({ emit, audit }, protections);
}

/**
 * One for all runs of this process.
 *
 * @throws StartError `PLATFORM_UNSUPPORTED` or `OUT_OF_DESCRIPTORS`.
 */
export function thisMachine(): SystemProcessHost {
	try {
		machine ??= new SystemProcessHost();
		return machine;
	} catch (error) {
		throw describedRefusal(error, "The process table cannot be read");
	}
}

/** A registry that knows its own run; spelt here, since the types of a ledger's file are nothing for users. */
export interface OwnRegistry extends Pick<ProcessRegistry, "runId" | "list"> {
	readonly record: RunRecord;
}

/** The registry of this process's own run in a data directory, if this copy of the package has one there. */
export function ownRegistry(path: string): OwnRegistry | undefined {
	return sharedRuns.get(path)?.registry;
}

/** The clock of every run, for those who tell of something before they have one. */
export const runClock: Clock = systemClock;

/** Importing works everywhere; a pool needs process groups and signals. */
export function assertPlatform(platform: NodeJS.Platform): void {
	if (platform === "linux" || platform === "darwin") return;
	throw new StartError({
		code: "PLATFORM_UNSUPPORTED",
		ran: "no",
		message: `Pools run on Linux and macOS, this is ${platform}. On Windows use the Windows Subsystem for Linux (WSL 2).`,
	});
}
