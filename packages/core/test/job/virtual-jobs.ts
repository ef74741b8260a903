import type { SnakepitEvent } from "../../src/contract/events.ts";
import { formatMarker, markerOf } from "../../src/contract/identity.ts";
import type { JobOptions } from "../../src/job/job-options.ts";
import { JobQueue, Jobs, type QueueLimits } from "../../src/job/jobs.ts";
import type { FakeProgram } from "../../src/testing/fake-process.ts";
import {
	type VirtualWorld,
	virtualWorld,
} from "../../src/testing/virtual-pool.ts";

export interface VirtualJobs extends VirtualWorld {
	readonly jobs: Jobs;
	/** Makes a job of the program. */
	job(options?: JobOptions): ReturnType<Jobs["job"]>;
	/** What a job ended with, while time passes. */
	outcomeOf(promise: Promise<unknown>): Promise<unknown>;
}

/** Jobs in a world in memory, all of one program. @param onEvent called in the turn in which something happens. */
export function virtualJobs(
	program: FakeProgram,
	limits: QueueLimits = { concurrency: 2, queueLimit: 10 },
	onEvent: (event: SnakepitEvent) => void = () => {},
): VirtualJobs {
	const virtual = virtualWorld();
	const { host, world, registry, clock } = virtual;
	host.install("program", program);
	const jobs = new Jobs({
		world: {
			...world,
			emit: (event) => {
				world.emit(event);
				onEvent(event);
			},
		},
		queue: new JobQueue(limits),
		runDirectory: "/virtual",
		marker: formatMarker(markerOf(registry.runId, host.self, "virtual")),
		environment: {},
	});
	return {
		...virtual,
		jobs,
		job: (options) => jobs.job(["program", "argument"], options),
		outcomeOf: (promise) =>
			clock.advanceUntil(promise.catch((error: unknown) => error)),
	};
}
