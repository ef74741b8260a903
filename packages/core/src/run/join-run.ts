import { realpathSync } from "node:fs";
import type { SnakepitEvent } from "../contract/events.ts";
import type { JobResult } from "../job/job-life.ts";
import {
	JOB_CHECKS,
	type JobOptions,
	OUTPUT_CHECKS,
	type OutputLimit,
	resolveJob,
} from "../job/job-options.ts";
import { checkOptions } from "../options/check.ts";
import { rememberDirectory } from "../os/known-directories.ts";
import { openStateDirectory } from "../os/state-directory.ts";
import { systemClock, systemRandom } from "../os/system-clock.ts";
import {
	assertPermitted,
	assertPlatform,
	type PermissionModel,
	thisMachine,
} from "../os/this-machine.ts";
import { EventHub } from "../pool/observe/event-hub.ts";
import type { Pool } from "../pool/pool.ts";
import { loadSqlite } from "../registry/sqlite.ts";
import { OpenedRun, preparePool } from "./opened-run.ts";
import type { Run } from "./run.ts";
import {
	assertAgrees,
	type CheckedPool,
	type ResolvedRunOptions,
	RUN_CHECKS,
	type RunOptions,
	resolveRunOptions,
} from "./run-options.ts";
import { SharedRun, sharedRuns } from "./shared-run.ts";
import { startRun } from "./start-run.ts";

/** A request for a run. */
export interface AskedRun {
	/** What was called, for messages. */
	readonly at: string;
	readonly given: RunOptions;
	/** Those given, and the defaults. */
	readonly options: ResolvedRunOptions;
}

/** A run by itself, see `openRun`. */
export async function joinAlone(asked: AskedRun): Promise<Run> {
	const { onEvent } = asked.given;
	const hub = new EventHub();
	if (onEvent !== undefined) hub.subscribe(onEvent);
	const early: SnakepitEvent[] = [];
	const unsubscribe = hub.subscribe((event) => early.push(event));
	const run = await join(asked, hub, early);
	unsubscribe();
	return run;
}

/** A pool whose share in the run ends with it, see `createPool`. */
export async function joinWithPool(
	asked: AskedRun,
	checked: CheckedPool,
): Promise<Pool> {
	const prepared = preparePool(checked);
	const run = await join(asked, prepared.hub).catch((error: unknown) => {
		prepared.discard();
		throw error;
	});
	return await run.start(prepared, () => run.leave());
}

/** Takes a share in the run, and starts it where there is none. */
async function join(
	{ at, given, options }: AskedRun,
	hub: EventHub,
	early?: readonly SnakepitEvent[],
): Promise<OpenedRun> {
	assertPlatform(process.platform);
	// Its type says that it is always there.
	const permission: PermissionModel | undefined = process.permission;
	assertPermitted(permission, process.allowedNodeEnvironmentFlags);
	const sqlite = await loadSqlite();
	const host = thisMachine();
	const state = openStateDirectory(given.dataDir, host.self.machineId);
	const dataDir = realpathSync(state.path);
	if (state.relocated !== undefined)
		hub.emit({
			type: "registry.relocated",
			wallMs: systemClock.wall(),
			path: dataDir,
			reason: state.relocated,
		});
	const open = sharedRuns.get(dataDir);
	if (open !== undefined) assertAgrees(at, given, open.options, dataDir);
	// A program that nobody may look at is not found by it either. Nothing waits for it: a home may be slow.
	if (given.dataDir !== undefined && options.control.length > 0)
		void rememberDirectory(dataDir, host.self.machineId);
	const world = { sqlite, host, clock: systemClock, random: systemRandom };
	const echo = (line: string): void => {
		if (!hub.isShown("orphan.reaped")) host.echo(line);
	};
	const shared =
		open ??
		new SharedRun({
			...{ host, dataDir, options },
			start: (emit) => startRun({ ...world, dataDir, options, emit, echo }),
			onOver: () => void sharedRuns.delete(dataDir),
		});
	sharedRuns.set(dataDir, shared);
	const started = await shared.join(hub.receive);
	return new OpenedRun(shared, started, hub, early);
}

/** What one program printed, and how it ended. */
export interface JobReport extends JobResult {
	/** Its standard output as UTF-8. */
	readonly stdout: string;
}

/** What `runJob` takes: how the job is run, what its output may have, and the options of the run. */
export type RunJobOptions = JobOptions & OutputLimit & RunOptions;

/** See `runJob`. */
export async function runOneJob(
	command: readonly string[],
	given: RunJobOptions,
): Promise<JobReport> {
	checkOptions("runJob", given, {
		...JOB_CHECKS,
		...OUTPUT_CHECKS,
		...RUN_CHECKS,
	});
	const { maxBytes, ...rest } = given;
	const ofJob = part(rest, JOB_CHECKS) as JobOptions;
	const ofRun = part(rest, RUN_CHECKS) as RunOptions;
	resolveJob("runJob", command, ofJob);
	const options = resolveRunOptions("runJob", ofRun);
	await using run = await joinAlone({ at: "runJob", given: ofRun, options });
	const job = run.job(command, ofJob);
	const stdout = await job.text({ maxBytes });
	return { ...(await job.result()), stdout };
}

/** Those options that a table of checks has. */
function part(options: object, checks: object): object {
	return Object.fromEntries(
		Object.entries(options).filter(([name]) => name in checks),
	);
}
