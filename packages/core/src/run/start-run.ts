import { Auditor } from "../audit/auditor.ts";
import type { CleanupReport } from "../cleanup/cleanup-report.ts";
import { leftoversLine } from "../cleanup/leftovers-line.ts";
import { type KillLimits, ProcessKiller } from "../cleanup/process-killer.ts";
import { reap } from "../cleanup/reaper.ts";
import { spareReason } from "../cleanup/settlement.ts";
import type { Clock, Random } from "../contract/clock.ts";
import type { SnakepitEvent } from "../contract/events.ts";
import {
	formatMarker,
	isMarkerOf,
	markerOf,
	type RunId,
} from "../contract/identity.ts";
import type { GuardContext } from "../guard/guard-chain.ts";
import type { GuardSource } from "../guard/guard-source.ts";
import { JobQueue } from "../job/job-queue.ts";
import type { CensusHost } from "../os/census.ts";
import { loadLate } from "../os/load-late.ts";
import { createRunDirectory } from "../os/private-directory.ts";
import { pauseSync } from "../os/system-clock.ts";
import { thisProgram } from "../os/this-program.ts";
import { EventHub } from "../pool/observe/event-hub.ts";
import {
	type Survivor,
	stillThere,
	survivorsOf,
} from "../process/still-there.ts";
import { boundHistory } from "../registry/history.ts";
import { LedgerDirectory } from "../registry/ledger-directory.ts";
import { openNewRun } from "../registry/new-run.ts";
import { OwnFiles } from "../registry/own-files.ts";
import type { Sqlite } from "../registry/sqlite.ts";
import { SqliteRegistry } from "../registry/sqlite-registry.ts";
import { applicationCleanup } from "./application-cleanup.ts";
import { Engagements } from "./engagements.ts";
import { recordExit } from "./exit-record.ts";
import { OwnDirectories } from "./own-directories.ts";
import type { RunInfrastructure } from "./run.ts";
import { RunControl } from "./run-control.ts";
import type { ResolvedRunOptions } from "./run-options.ts";

/** Nothing can use what they still finish. */
const STRAY_LIMITS: KillLimits = { graceMs: 0, deadlineMs: 5_000 };

const loadGuard = loadLate(() => import("../guard/open-guard.ts"));

export interface StartRunParts {
	readonly sqlite: Sqlite;
	readonly host: CensusHost;
	readonly clock: Clock;
	readonly random: Random;
	/** Where the ledger is. */
	readonly dataDir: string;
	readonly options: ResolvedRunOptions;
	readonly emit: (event: SnakepitEvent) => void;
	/** Shows people a line. */
	readonly echo: (line: string) => void;
}

/** A run that is in the ledger, has cleaned up after the dead, and is audited and protected. */
export interface StartedRun {
	readonly infrastructure: RunInfrastructure & {
		readonly registry: SqliteRegistry;
	};
	readonly cleanupReport: CleanupReport;
	readonly auditor: Auditor;
	readonly control: RunControl;
	/** In which its jobs wait for their turn. */
	readonly jobQueue: JobQueue;
	/** Ends the run; resolves when its protections are gone, too. Called once. */
	end(): Promise<void>;
}

/**
 * Starts a run: into the ledger first, then clean up after dead runs, then engage
 * its protections. Nothing else is started before. The disk may take all that time
 * for the ledger, but no longer.
 *
 * @throws RegistryError, StartError or OptionsError; nothing is left then.
 */
export async function startRun(parts: StartRunParts): Promise<StartedRun> {
	const { sqlite, host, clock, random, options } = parts;
	const hub = new EventHub();
	hub.subscribe(parts.emit);
	const { emit } = hub;
	const { content } = options.history;
	hub.recordWith((event) => registry.note(event));
	const directory = new LedgerDirectory(parts.dataDir);
	const program = thisProgram(content);
	const { name, lock, file, run } = await openNewRun({
		sqlite,
		directory,
		owner: host.self,
		program,
		clock,
		random,
		makeRunDirectory: createRunDirectory,
		removeFiles: (paths) => host.remove(paths),
	});
	const { runId } = name;
	const directories = new OwnDirectories({
		...{ name, clock, emit, directory: run.directory },
		living: () => registry.living(),
		moved: (path) => registry.moveDirectory(path),
	});
	const marker = formatMarker(markerOf(runId, host.self, directory.key));
	const files = new OwnFiles({ sqlite, directory, name, file, lock });
	const context: GuardContext = {
		...{ runId, host, clock, marker, emit },
		dataDir: parts.dataDir,
		get runDirectory() {
			return directories.directory;
		},
		living: () => registry.living(),
	};
	const engagements = new Engagements(context);
	let guard: GuardSource | undefined;
	const registry = new SqliteRegistry({
		clock,
		emit,
		files,
		run,
		content,
		marker,
		listener: {
			activated: (worker) => engagements.watch(worker),
			ended: (incarnation) => engagements.unwatch(incarnation),
		},
		release: (over) => {
			// What is not over needs its directory as evidence of what to remove.
			const isUsed = registry.living().length > 0;
			if (over || !isUsed)
				host.remove(directories.all(over ? "every" : "later"));
			if (over) directory.retire(name);
			files.release(over ? "removed" : "kept");
		},
	});
	const killer = new ProcessKiller(host, clock);
	const start = async (): Promise<CleanupReport> => {
		emit({
			type: "run.started",
			wallMs: clock.wall(),
			runId,
			dataDir: directory.path,
		});
		registry.transition("cleaning_stale");
		const report = await reap({
			...{ ...parts, emit },
			directory,
			killer,
			strategy: options.cleanup,
			claimant: { kind: "reaper", runId, report: emit },
		});
		const leftovers = leftoversLine(report.reaped);
		if (leftovers !== undefined) parts.echo(leftovers);
		boundHistory(directory, clock.wall(), options.history);
		registry.transition("running");
		return report;
	};
	const cleanupReport = await start().catch((error: unknown) => {
		registry.close();
		throw error;
	});
	const control = new RunControl({
		...{ hub, clock, random, program },
		get runDirectory() {
			return directories.directory;
		},
		dataDir: directory.path,
		record: () => registry.record,
		protections: () =>
			[guard, ...options.protections]
				.filter((each) => each !== undefined)
				.map(({ name }) => name),
		scopes: options.control,
	});
	const auditor = new Auditor({
		...{ registry, marker, host, clock, killer, emit },
		rule: options.audit,
		alsoLook: () => {
			void directories.shared;
			control.lookAfter();
		},
	});
	const unregister = applicationCleanup.register({
		signalWish: {
			onSignal: options.onSignal,
			graceMs: options.signalGraceMs,
		},
		// It ends with its last share, and each share takes part itself.
		close: async () => {},
		killNow: () => {
			guard?.killNow(pauseSync);
			recordExit({ registry, host, clock, pause: pauseSync });
		},
		signalled: (signal, forced, { kind, graceMs }) =>
			emit({
				type: "host.signal_received",
				wallMs: clock.wall(),
				...{ signal, forced, answer: kind, graceMs },
			}),
		graceSpent: (spent) =>
			emit({ type: "host.grace_spent", wallMs: clock.wall(), ...spent }),
	});
	const end = async (): Promise<void> => {
		unregister();
		auditor.stop();
		const rows = registry.living();
		registry.close();
		control.close();
		// Only now: until the run is over it must be watched.
		const [, guards = []] = await Promise.all([
			engagements.release(),
			guard?.release(),
		]);
		const strays = await endStrays({ runId, host, clock, killer, emit });
		const survivors = [
			...survivorsOf(rows, host),
			...guards.map(({ pid }) => ({ pid, name: "a process of its guards" })),
			...strays,
		];
		if (survivors.length > 0) throw stillThere(`The run ${runId}`, survivors);
	};
	try {
		const opening =
			options.guard === "off"
				? undefined
				: (await loadGuard()).openGuard(options.guard, context);
		// While the guard starts. Never rejects: a run that clients cannot attach to is reported.
		const listening = control.listen();
		guard = await opening;
		await engagements.engage(options.protections);
		await Promise.all([file.onDisk, listening]);
		const infrastructure = {
			...{ host, registry, clock, random, killer, marker },
			get runDirectory() {
				return directories.directory;
			},
			get sharedDirectory() {
				return directories.shared;
			},
			source: guard ?? host.source,
		};
		const jobQueue = new JobQueue(options.jobs);
		return { infrastructure, cleanupReport, auditor, control, jobQueue, end };
	} catch (error) {
		await end().catch(() => {}); // Why it did not open is said; the next start ends what is left.
		throw error;
	}
}

/** What carries the run's marker when all its workers have ended was killed: resolves when it is gone, to what is not. */
async function endStrays({
	runId,
	host,
	clock,
	killer,
	emit,
}: Pick<StartRunParts, "host" | "clock" | "emit"> & {
	readonly runId: RunId;
	readonly killer: ProcessKiller;
}): Promise<readonly Survivor[]> {
	const results = await killer.end(
		() =>
			host
				.marked()
				.filter(
					({ marker, incarnation }) =>
						isMarkerOf(marker, runId, host.self) && incarnation !== undefined,
				),
		STRAY_LIMITS,
	);
	return results.flatMap(({ target: { identity, name }, fate }) => {
		const { pid } = identity;
		const wallMs = clock.wall();
		const about = { wallMs, ofRun: runId, pid };
		if (fate === "ended_on_term" || fate === "killed") {
			const found = { program: undefined, foundBy: "marker" } as const;
			emit({ type: "orphan.reaped", ...about, ...found, how: fate });
			return [];
		}
		emit({ type: "orphan.spared", ...about, reason: spareReason(fate) });
		return [{ pid, name }];
	});
}
