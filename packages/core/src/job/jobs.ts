import { JobError } from "../contract/errors.ts";
import type { CallOutcome } from "../contract/events.ts";
import type {
	Afterwards,
	CloseManner,
} from "../contract/run-and-worker-states.ts";
import { resolvesWithin } from "../deadline.ts";
import { STOP_DEFAULTS } from "../options/pool-options.ts";
import { OrphanSweep } from "../process/orphan-sweep.ts";
import { type Job, JobHandle } from "./job.ts";
import { type JobDependencies, JobLife } from "./job-life.ts";
import { type JobOptions, resolveJob } from "./job-options.ts";

/** How many jobs there are now, and how those before them ended. */
export interface JobStatistics extends Readonly<Record<CallOutcome, number>> {
	readonly waiting: number;
	readonly running: number;
}

/** The jobs of one share in a run. */
export class Jobs {
	readonly #dependencies: JobDependencies;
	readonly #lives = new Set<JobLife>();
	readonly #outcomes: Record<CallOutcome, number> = {
		succeeded: 0,
		failed: 0,
		aborted: 0,
		timed_out: 0,
	};
	#closed: Promise<void> | undefined;

	constructor(dependencies: Omit<JobDependencies, "sweep">) {
		const { world } = dependencies;
		const emit: typeof world.emit = (event) => {
			if (event.type === "job.settled") this.#outcomes[event.outcome]++;
			world.emit(event);
		};
		this.#dependencies = {
			...dependencies,
			// Where it is at that moment.
			get runDirectory() {
				return dependencies.runDirectory;
			},
			world: { ...world, emit },
			sweep: new OrphanSweep(world),
		};
	}

	/** @throws OptionsError; everything else is an error of the job. */
	job(command: readonly string[], options: JobOptions = {}): Job {
		const resolved = resolveJob("run.job", command, options);
		const life = new JobLife(resolved, this.#dependencies);
		if (this.#closed === undefined) {
			this.#lives.add(life);
			void life.live();
			void life.over.then(() => this.#lives.delete(life));
		} else life.refuse(runClosed(life));
		return new JobHandle(life);
	}

	statistics(): JobStatistics {
		const phases = [...this.#lives].map(({ phase }) => phase);
		return {
			waiting: phases.filter((phase) => phase === "waiting").length,
			running: phases.filter((phase) => phase === "running").length,
			...this.#outcomes,
		};
	}

	/** Resolves when nothing of any job is left. A second call that is forced kills what the first still waits for. */
	close(
		manner: CloseManner,
		drainMs: number = STOP_DEFAULTS.drainMs.value,
		afterwards: Afterwards = "goes_on",
	): Promise<void> {
		if (afterwards === "dies")
			for (const life of this.#lives) life.withholdAnswer();
		if (this.#closed !== undefined) {
			if (manner === "forced") this.#stopAll(manner);
			else if (afterwards === "dies") void this.#endWithin(drainMs);
			return this.#closed;
		}
		this.#closed = this.#end(manner, drainMs, afterwards);
		return this.#closed;
	}

	/** Kills every job in this very turn. For the exit of the host; `close` is for everything else. */
	killNow(): void {
		for (const life of this.#lives) life.killNow();
	}

	async #end(
		manner: CloseManner,
		drainMs: number,
		afterwards: Afterwards,
	): Promise<void> {
		const { world, sweep } = this.#dependencies;
		const { clock } = world;
		const over = this.#over();
		if (manner === "gentle" && afterwards === "goes_on")
			await resolvesWithin(over, drainMs, clock);
		if (afterwards === "dies" && manner === "gentle")
			await this.#endWithin(drainMs);
		else this.#stopAll(manner);
		await over;
		await sweep.settle();
	}

	/** After a signal, jobs are asked to end without waiting first, so that they have time to save their work. */
	async #endWithin(ms: number): Promise<void> {
		this.#stopAll("gentle");
		const over = this.#over();
		if (!(await resolvesWithin(over, ms, this.#dependencies.world.clock)))
			this.#stopAll("forced");
	}

	#over(): Promise<unknown> {
		return Promise.all([...this.#lives].map((life) => life.over));
	}

	#stopAll(manner: CloseManner): void {
		for (const life of this.#lives) life.stop({ kind: "run_closed" }, manner);
	}
}

function runClosed({ ref }: JobLife): JobError {
	return new JobError({
		code: "JOB_RUN_CLOSED",
		ran: "no",
		message: `The run was closed before ${ref.jobId} (${ref.program}). Start jobs before run.close(), or open another run.`,
	});
}

/** How many jobs may run at the same time, and how many may wait. */
export interface QueueLimits {
	readonly concurrency: number;
	readonly queueLimit: number;
}

/** A job in the queue, from its acceptance to its end. */
export interface QueueEntry {
	/** Resolves when the job may run. */
	readonly turn: Promise<void>;
	/** The job has ended, or does not want to run any more. Calling it again does nothing. */
	leave(): void;
}

/** Lets a bounded number of jobs run at the same time, in the order they came. */
export class JobQueue {
	readonly #limits: QueueLimits;
	readonly #waiting = new Set<() => void>();
	#running = 0;

	constructor(limits: QueueLimits) {
		this.#limits = limits;
	}

	/** Those whose turn has come. */
	get running(): number {
		return this.#running;
	}

	get waiting(): number {
		return this.#waiting.size;
	}

	/** @throws JobError `JOB_QUEUE_FULL`. */
	enter(): QueueEntry {
		const { concurrency, queueLimit } = this.#limits;
		if (this.#running < concurrency) {
			this.#running++;
			return { turn: Promise.resolve(), leave: once(() => this.#free()) };
		}
		if (this.#waiting.size >= queueLimit)
			throw new JobError({
				code: "JOB_QUEUE_FULL",
				ran: "no",
				message: `${this.#running} jobs are running and ${this.#waiting.size} are waiting, which is the limit. Start fewer at once, or raise jobs.queueLimit (${queueLimit}) or jobs.concurrency (${concurrency}) of the run.`,
			});
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#waiting.add(resolve);
		const leave = once(() => {
			if (!this.#waiting.delete(resolve)) this.#free();
		});
		return { turn: promise, leave };
	}

	#free(): void {
		const [next] = this.#waiting;
		if (next === undefined) {
			this.#running--;
			return;
		}
		this.#waiting.delete(next);
		next();
	}
}

function once(action: () => void): () => void {
	let done = false;
	return () => {
		if (done) return;
		done = true;
		action();
	};
}
