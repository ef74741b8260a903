import { JobError } from "../contract/errors.ts";

/** How many jobs may run at the same time, and how many may wait. */
export interface QueueLimits {
	readonly concurrency: number;
	readonly queueLimit: number;
}

/** A job's place in the queue, from its acceptance to its end. */
export interface QueuePlace {
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
	enter(): QueuePlace {
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
