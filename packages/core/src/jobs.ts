// The types of jobs, for programs that hand them on: `runJob`, `run.job` and `JobError` are of the root.

export type { Job } from "./job/job.ts";
export type { JobResult } from "./job/job-life.ts";
export type { JobInput, JobOptions } from "./job/job-options.ts";
export type { JobReport } from "./run/join-run.ts";
