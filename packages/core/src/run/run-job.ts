import type { JobResult } from "../job/job-life.ts";
import {
	JOB_CHECKS,
	type JobOptions,
	OUTPUT_CHECKS,
	type OutputLimit,
	resolveJob,
} from "../job/job-options.ts";
import { checkOptions } from "../options/check.ts";
import { joinAlone } from "./join-run.ts";
import {
	RUN_CHECKS,
	type RunOptions,
	resolveRunOptions,
} from "./run-options.ts";

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
