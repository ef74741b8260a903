import { join } from "node:path";
import { SnakepitError, StartError } from "../contract/errors.ts";
import type { JobRef } from "../contract/events.ts";
import type { ProcessExit } from "../contract/identity.ts";
import { adoptSource, releaseSource } from "../contract/input-source.ts";
import type { Killer } from "../contract/process-registry.ts";
import type { CloseManner } from "../contract/states.ts";
import { failing, messageOf } from "../contract/thrown.ts";
import type { World } from "../contract/world.ts";
import { outbox } from "../outbox.ts";
import type { OrphanSweep } from "../process/orphan-sweep.ts";
import {
	type OwnedProcess,
	type ProcessPlace,
	recordEnd,
	startOwned,
} from "../process/owned-process.ts";
import type { SpecSetting } from "../process/process-spec.ts";
import type { ResolvedJob } from "./job-options.ts";
import { JobOutput } from "./job-output.ts";
import { JobProcess } from "./job-process.ts";
import type { JobQueue, QueuePlace } from "./job-queue.ts";
import { type JobEnd, type JobStop, verdictOf } from "./job-verdict.ts";

/** How a job that succeeded has ended. */
export interface JobResult {
	readonly exit: ProcessExit;
	/** From its start to its end, in milliseconds. */
	readonly ranMs: number;
	/** The last lines of its standard error, oldest first. */
	readonly stderrTail: readonly string[];
}

/** What the jobs of one run have in common. */
export interface JobSetting extends SpecSetting {
	readonly world: World;
	readonly queue: JobQueue;
	/** Private; a job gets a directory in it. */
	readonly runDirectory: string;
	/** Finds what a job left outside its group. */
	readonly sweep: OrphanSweep;
}

/** The pool of jobs in the ledger; no pool can have this name. */
const JOBS = "(jobs)";

/** One job, from its acceptance to its end: waits for its turn, has a process, ends it. */
export class JobLife {
	readonly ref: JobRef;
	readonly output: JobOutput = new JobOutput();
	/** Resolves when nothing of it is left, however it ended. */
	readonly over: Promise<void>;
	/** How it ended. Rejects with JobError, or with StartError or RegistryError when it could not be started. */
	readonly result: Promise<JobResult>;
	readonly #job: ResolvedJob;
	readonly #setting: JobSetting;
	readonly #place: Omit<ProcessPlace, "directory">;
	readonly #over = Promise.withResolvers<void>();
	readonly #result = Promise.withResolvers<JobResult>();
	/** Resolves when it is to end: it need not wait for its turn. */
	readonly #stopped = Promise.withResolvers<void>();
	#phase: "waiting" | "running" | "ended" = "waiting";
	#stop: JobStop | undefined;
	#manner: CloseManner = "gentle";
	#process: JobProcess | undefined;
	#end: JobEnd | undefined;
	/** Whether its caller gets its result: not in a program that dies of a signal. */
	#answer: "given" | "withheld" = "given";

	constructor(job: ResolvedJob, setting: JobSetting) {
		this.#job = job;
		this.#setting = setting;
		const incarnation = setting.world.registry.nextIncarnation();
		this.ref = { jobId: incarnation, program: job.spec.executable };
		const workerId = `job-${numberOf(incarnation)}`;
		this.#place = { incarnation, workerId, pool: JOBS };
		this.over = this.#over.promise;
		this.result = this.#result.promise;
		adoptSource(job.input);
	}

	get phase(): "waiting" | "running" | "ended" {
		return this.#phase;
	}

	/** `undefined` before it is started. */
	get pid(): number | undefined {
		return this.#process?.pid;
	}

	/** Waits for its turn and runs. Resolves when it is over. Never rejects. */
	async live(): Promise<void> {
		const { world, queue } = this.#setting;
		const { clock, host, emit } = world;
		let place: QueuePlace;
		try {
			place = queue.enter();
		} catch (error) {
			this.refuse(error as Error);
			return;
		}
		const release = host.keepAlive();
		const acceptedMs = clock.now();
		const { waiting } = queue;
		const wallMs = clock.wall();
		emit({ type: "job.accepted", wallMs, ...this.ref, waiting });
		const { signal } = this.#job;
		const abort = (): void =>
			this.stop({ kind: "aborted", reason: signal?.reason });
		signal?.addEventListener("abort", abort);
		if (signal?.aborted === true) abort();
		await Promise.race([place.turn, this.#stopped.promise]);
		const owned = await this.#start();
		if (owned === undefined) this.#settle(undefined, "none");
		else await this.#run(owned, clock.now() - acceptedMs, place);
		signal?.removeEventListener("abort", abort);
		place.leave();
		release();
	}

	/** It is not taken. */
	refuse(error: Error): void {
		this.#phase = "ended";
		this.output.close();
		this.#over.resolve();
		this.#result.resolve(failing(error));
	}

	/** Ends it; the first reason counts. When it is being ended already, `"forced"` kills it at once. */
	stop(stop: JobStop, manner: CloseManner = "gentle"): void {
		if (this.#phase === "ended") return;
		const isFirst = this.#stop === undefined;
		this.#stop ??= stop;
		this.#stopped.resolve();
		if (manner === "forced") this.#manner = manner;
		if (isFirst || manner === "forced") this.#process?.stop(manner);
	}

	/** Kills its group in this very turn, for the exit of the host. */
	killNow(): void {
		this.#process?.killNow();
	}

	/** The program dies of a signal: an uncaught error would end it first. */
	withholdAnswer(): void {
		this.#answer = "withheld";
	}

	/** Its output is more than its reader takes: ends it. @throws JobError `JOB_OUTPUT_TOO_LARGE` when it is over. */
	async refuseOutput(
		what: "output" | "line",
		maxBytes: number,
	): Promise<never> {
		const stop: JobStop = { kind: "output_too_large", what, maxBytes };
		this.stop(stop);
		this.output.discard();
		await this.over;
		throw verdictOf({ ...this.#ending(undefined), ...this.#end, stop }).error;
	}

	/** Brings it to a process; leaves nothing when that fails. */
	async #start(): Promise<OwnedProcess | undefined> {
		const assertWanted = (): void => {
			if (this.#stop !== undefined) throw notWanted;
		};
		try {
			assertWanted();
			const { world, runDirectory } = this.#setting;
			const directory = join(runDirectory, numberOf(this.#place.incarnation));
			return await startOwned(
				this.#job.spec,
				{ ...this.#place, directory },
				this.#setting,
				world,
				assertWanted,
			);
		} catch (error) {
			this.#notStarted(error);
			return undefined;
		}
	}

	async #run(
		owned: OwnedProcess,
		waitedMs: number,
		place: QueuePlace,
	): Promise<void> {
		const { process } = owned;
		const { world, sweep } = this.#setting;
		const { clock } = world;
		const { incarnation } = this.#place;
		const running = new JobProcess(owned, this.#job, world);
		// From now on a stop ends the process itself.
		const wasStopped = this.#stop !== undefined;
		this.#process = running;
		this.#phase = "running";
		const ended = outbox.during(() => {
			world.emit({
				type: "job.started",
				wallMs: clock.wall(),
				...this.ref,
				...{ pid: running.pid, source: process.source, waitedMs },
			});
			this.output.attach(process.stdout);
			const ended = running.run(
				(stop) => this.stop(stop),
				() => {
					this.#phase = "ended";
				},
			);
			if (wasStopped) running.stop(this.#manner); // While it was spawned.
			return ended;
		});
		const { exit, killer } = await ended;
		if (exit !== undefined)
			await process.executed?.catch((error: unknown) =>
				this.#notStarted(error),
			);
		const reason = this.#reason();
		recordEnd(owned, incarnation, { exit, reason, killer }, world);
		sweep.noteEnded(incarnation);
		place.leave();
		if (exit !== undefined) await this.output.finish(clock);
		this.#settle(exit, killer);
	}

	#notStarted(error: unknown): void {
		this.#stop ??= { kind: "not_started", error: startError(error) };
	}

	#reason(): "exited" | "closed" | "start_failed" {
		if (this.#stop?.kind === "not_started") return "start_failed";
		return this.#stop === undefined ? "exited" : "closed";
	}

	#ending(exit: ProcessExit | undefined): JobEnd {
		const { jobId, program } = this.ref;
		const running = this.#process;
		const { okCodes } = this.#job;
		const process = running === undefined ? "" : `, pid ${running.pid}`;
		const now = this.#setting.world.clock.now();
		return {
			name: `Job ${jobId} (${program}${process})`,
			...{ pid: running?.pid, exit, stop: this.#stop, okCodes },
			ranMs: running === undefined ? 0 : now - running.startedMs,
			stderrTail: running?.tail.lines() ?? [],
			tailParagraph: running?.tail.paragraph() ?? "",
		};
	}

	#settle(exit: ProcessExit | undefined, killer: Killer): void {
		this.#phase = "ended";
		this.output.close();
		releaseSource(this.#job.input);
		const end = this.#ending(exit);
		this.#end = end;
		const { ranMs, stderrTail } = end;
		const { outcome, error } = verdictOf(end);
		const { clock, emit } = this.#setting.world;
		emit({
			type: "job.settled",
			wallMs: clock.wall(),
			...this.ref,
			...{ outcome, code: error?.code, exit, killer, ranMs },
			spared: this.#process?.spared ?? [],
			tail: stderrTail,
		});
		this.#over.resolve();
		if (this.#answer === "withheld") return;
		if (error !== undefined) this.#result.resolve(failing(error));
		else if (exit !== undefined)
			this.#result.resolve({ exit, ranMs, stderrTail });
	}
}

function numberOf(incarnation: string): string {
	return incarnation.slice(incarnation.lastIndexOf("-") + 1);
}

/** For `assertWanted`: why it is not wanted is known. */
const notWanted = new Error("The job is to end.");

/** Why there is no process. */
function startError(error: unknown): SnakepitError {
	if (error instanceof SnakepitError) return error;
	return new StartError({
		code: "SPAWN_FAILED",
		ran: "no",
		message: `A job could not be started: ${messageOf(error)}`,
		cause: error,
	});
}
