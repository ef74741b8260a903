import { Auditor } from "../audit/auditor.ts";
import {
	type CleanupReport,
	leftoversLine,
} from "../cleanup/cleanup-report.ts";
import { type KillLimits, ProcessKiller } from "../cleanup/process-killer.ts";
import { reap } from "../cleanup/reaper.ts";
import { spareReason } from "../cleanup/run-claim.ts";
import type { Clock, Random } from "../contract/clock.ts";
import { StartError } from "../contract/errors.ts";
import type { SnakepitEvent } from "../contract/events.ts";
import {
	formatMarker,
	isMarkerOf,
	markerOf,
	type RunId,
} from "../contract/identity.ts";
import type {
	ProcessRegistry,
	ProgramEnd,
} from "../contract/process-registry.ts";
import type {
	Engagement,
	Protection,
	ProtectionContext,
	WatchedWorker,
} from "../contract/protection.ts";
import { recordedError } from "../contract/recorded-error.ts";
import { messageOf } from "../contract/thrown.ts";
import type { ProcessHost } from "../contract/world.ts";
import { withDeadline } from "../deadline.ts";
import type { GuardContext } from "../guard/guard-chain.ts";
import type { GuardSource } from "../guard/guard-source.ts";
import { JobQueue } from "../job/jobs.ts";
import type { SnapshotHost } from "../os/descendants.ts";
import { loadLate } from "../os/load-late.ts";
import { createRunDirectory } from "../os/private-directory.ts";
import { pauseSync } from "../os/system-clock.ts";
import {
	programEvents,
	programTimes,
	thisProgram,
} from "../os/this-program.ts";
import { EventHub } from "../pool/observe/event-hub.ts";
import { Sightings } from "../pool/observe/pool-metrics.ts";
import {
	type Survivor,
	stillThere,
	survivorsOf,
} from "../process/process-end.ts";
import { boundHistory } from "../registry/history.ts";
import { LedgerDirectory } from "../registry/ledger-directory.ts";
import { OwnFiles } from "../registry/own-files.ts";
import { amendEnded, openNewRun } from "../registry/run-file.ts";
import { runPath } from "../registry/run-name.ts";
import type { Sqlite } from "../registry/sqlite.ts";
import { SqliteRegistry } from "../registry/sqlite-registry.ts";
import { applicationCleanup } from "./application-cleanup.ts";
import { OwnDirectories } from "./own-directories.ts";
import { programEnd, RunEnding } from "./program-end.ts";
import type { RunInfrastructure } from "./run.ts";
import { RunControl } from "./run-control.ts";
import type { ResolvedRunOptions } from "./run-options.ts";
import { Standstills } from "./standstills.ts";

/** Nothing can use what they still finish. */
const STRAY_LIMITS: KillLimits = { graceMs: 0, deadlineMs: 5_000 };

const loadGuard = loadLate(() => import("../guard/open-guard.ts"));

interface StartRunParts {
	readonly sqlite: Sqlite;
	readonly host: SnapshotHost;
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
	/** For its metrics. */
	readonly sightings: Sightings;
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
	const sightings = new Sightings(hub, clock);
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
			ending.over();
			runOver();
			const isUsed = registry.living().length > 0;
			host.remove(directories.removable(over, isUsed));
			if (over) directory.retire(name);
			files.release(over ? "removed" : "kept");
		},
	});
	const ended = runPath(directory.history, name, "db");
	const ending = new RunEnding({
		of: programEvents.mainThread ? "program" : "thread",
		...{ clock, content, ...amending(sqlite, ended) },
		record: (...known) => registry.endProgram(...known),
	});
	const runOver = programEnd.register(ending);
	const killer = new ProcessKiller(host, clock);
	const start = async (): Promise<CleanupReport> => {
		emit({
			type: "run.started",
			wallMs: clock.wall(),
			runId,
			dataDir: directory.path,
		});
		ending.begun();
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
		registry.failOpening(recordedError(error));
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
		failedCalls: () => registry.failedCalls,
		protections: () =>
			[guard, ...options.protections]
				.filter((each) => each !== undefined)
				.map(({ name }) => name),
		unwritten: () => registry.unwritable,
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
	const times = programTimes;
	const standstills = new Standstills({ host, clock, times, emit });
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
		signalled: (signal, forced, { kind, graceMs }) => {
			ending.signalled(signal, kind);
			emit({
				type: "host.signal_received",
				wallMs: clock.wall(),
				...{ signal, forced, answer: kind, graceMs },
			});
		},
		idle: (code) => ending.idle(code),
		graceSpent: (spent) => {
			ending.endsBySignal();
			emit({ type: "host.grace_spent", wallMs: clock.wall(), ...spent });
		},
	});
	const end = async (): Promise<void> => {
		unregister();
		auditor.stop();
		standstills.stop();
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
		return {
			...{ infrastructure, cleanupReport, auditor, sightings, control },
			...{ jobQueue, end },
		};
	} catch (error) {
		registry.failOpening(recordedError(error));
		await end().catch(() => {}); // Why it did not open is said; the next start ends what is left.
		throw error;
	}
}

/** Apart from the run, which is not kept for it. @param path of the run's file when it is over. */
function amending(
	sqlite: Sqlite,
	path: string,
): { readonly amend: (end: ProgramEnd) => void } {
	return { amend: (end) => amendEnded(sqlite, path, end) };
}

/** What carries the run's marker when all its workers have ended was killed: resolves when it is gone, to what is not. */
export async function endStrays({
	runId,
	host,
	clock,
	killer,
	emit,
}: Pick<StartRunParts, "host" | "clock" | "emit"> & {
	readonly runId: RunId;
	readonly killer: Pick<ProcessKiller, "end">;
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
			const facts = { program: undefined, foundBy: "marker" } as const;
			emit({ type: "orphan.reaped", ...about, ...facts, how: fate });
			return [];
		}
		emit({ type: "orphan.spared", ...about, reason: spareReason(fate) });
		return [{ pid, name }];
	});
}

/** Longer than the start of a process takes on a busy machine. */
const ENGAGE_MS = 60_000;
/** Longer than its processes need to end: a run that is closed does not wait for ever. */
const RELEASE_MS = 10_000;

interface Engaged {
	readonly name: string;
	readonly engagement: Engagement;
}

/**
 * The protections of one run: engaged before its first worker, released after its last. They are other people's code:
 * one that throws or never answers harms neither the run nor the others.
 */
export class Engagements {
	readonly #context: ProtectionContext;
	readonly #engaged: Engaged[] = [];

	constructor(context: ProtectionContext) {
		this.#context = context;
	}

	/** A worker was recorded. */
	watch(worker: WatchedWorker): void {
		for (const { name, engagement } of this.#engaged)
			this.#guard(`${name}.watch`, () => engagement.watch?.(worker));
	}

	/** A worker has ended. */
	unwatch(incarnation: string): void {
		for (const { name, engagement } of this.#engaged)
			this.#guard(`${name}.unwatch`, () => engagement.unwatch?.(incarnation));
	}

	/**
	 * Engages each.
	 *
	 * @throws StartError `PROTECTION_UNAVAILABLE` where the protection says so. Those engaged before are for `release`.
	 */
	async engage(protections: readonly Protection[]): Promise<void> {
		for (const protection of protections) {
			const engagement = await this.#one(protection);
			const { name } = protection;
			if (engagement !== undefined) this.#engaged.push({ name, engagement });
		}
	}

	/** Resolves when nothing of them is left, or they do not say so in time. */
	async release(): Promise<void> {
		await Promise.all(
			this.#engaged.map(async ({ name, engagement }) => {
				try {
					await this.#withDeadline(RELEASE_MS, "release", engagement.release());
				} catch (error) {
					this.#threw(`${name}.release`, error);
				}
			}),
		);
	}

	/** `undefined` where the run does without it. */
	async #one(protection: Protection): Promise<Engagement | undefined> {
		const { name, whenUnavailable } = protection;
		const { clock, emit } = this.#context;
		let engaging: Promise<Engagement> | undefined;
		try {
			engaging = protection.engage(this.#context);
			return await this.#withDeadline(ENGAGE_MS, "engage", engaging);
		} catch (error) {
			// One that comes too late is not needed any more.
			engaging?.then((late) => late.release()).catch(() => {});
			const reason = messageOf(error);
			emit({
				type: "protection.unavailable",
				wallMs: clock.wall(),
				protection: name,
				reason,
			});
			if (whenUnavailable === "start") return undefined;
			throw new StartError({
				code: "PROTECTION_UNAVAILABLE",
				message: `The protection ${name} is not available here, and it was created with whenUnavailable: "refuse". ${reason}`,
				cause: error,
			});
		}
	}

	/** @throws Error when it does not settle in time. */
	async #withDeadline<Value>(
		ms: number,
		what: string,
		settling: Promise<Value>,
	): Promise<Value> {
		const { clock, host } = this.#context;
		const release = host.keepAlive();
		const deadline = { clock, ms, counts: "running" } as const;
		return await withDeadline(settling, deadline, () => {
			throw new Error(`Its ${what}() did not settle within ${ms} ms.`);
		}).finally(release);
	}

	#guard(of: string, act: () => void): void {
		try {
			act();
		} catch (error) {
			this.#threw(of, error);
		}
	}

	#threw(of: string, error: unknown): void {
		const { clock, emit } = this.#context;
		emit({ type: "listener.threw", wallMs: clock.wall(), of, error });
	}
}

/**
 * A killed process is gone within a millisecond or two; with eight busy programs for
 * each processor it has taken more than half a second. Only one that cannot die makes
 * the exit wait so long.
 */
const EXIT_LIMIT_MS = 2_000;
const PAUSE_MS = 1;

interface ExitParts {
	readonly registry: ProcessRegistry;
	readonly host: ProcessHost;
	readonly clock: Clock;
	/** Stops this thread. */
	readonly pause: (ms: number) => void;
}

/**
 * Ends what left its worker's group, and records the end of a run whose workers
 * were just killed, in the last turn of the program. A process that is not
 * seen to be gone stays on record, or keeps the run open: the next start looks for it.
 */
export function recordExit({ registry, host, clock, pause }: ExitParts): void {
	const begunAt = clock.now();
	let strays = killMarked(host, registry.runId);
	let isLastLook = registry.living().length === 0;
	while (clock.now() - begunAt < EXIT_LIMIT_MS) {
		const areGone = recordGone(registry, host);
		if (areGone && strays === 0 && isLastLook) break;
		if (strays > 0 || !areGone) pause(PAUSE_MS);
		// A killed process may have forked meanwhile; and what a worker had just forked
		// carries the marker only once it executes its program.
		isLastLook = areGone;
		if (strays > 0 || areGone) strays = killMarked(host, registry.runId);
	}
	// A run that is not over is looked at by the next start of any program.
	if (strays === 0) registry.close("at_once");
}

/** Records the workers that are gone; returns whether all of them are. */
function recordGone(registry: ProcessRegistry, host: ProcessHost): boolean {
	let areGone = true;
	for (const { incarnation, identity } of registry.living()) {
		if (identity === undefined) continue;
		if (host.observe(identity.pid) === "gone")
			registry.end(incarnation, {
				exit: undefined,
				reason: "host_exit",
				killer: "application_cleanup",
			});
		else areGone = false;
	}
	return areGone;
}

/** Kills whatever carries the marker of the run; returns how many were found. */
function killMarked(host: ProcessHost, runId: RunId): number {
	const strays = host
		.marked()
		.filter(({ marker }) => isMarkerOf(marker, runId, host.self));
	for (const { identity } of strays) host.signal(identity, "SIGKILL");
	return strays.length;
}
