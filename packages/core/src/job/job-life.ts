import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isUint8Array } from "node:util/types";
import type { Clock } from "../contract/clock.ts";
import { SnakepitError, StartError } from "../contract/errors.ts";
import type { JobRef } from "../contract/events.ts";
import type { ProcessExit } from "../contract/identity.ts";
import { closeSource, ignoreEarlyErrors } from "../contract/input-source.ts";
import type { EndReason, Killer } from "../contract/process-registry.ts";
import { recordedError } from "../contract/recorded-error.ts";
import type { CloseManner } from "../contract/run-and-worker-states.ts";
import { lastCharacters } from "../contract/telling-lines.ts";
import { failing, messageOf } from "../contract/thrown.ts";
import type { World } from "../contract/world.ts";
import { afterRunning, resolvesWithin } from "../deadline.ts";
import { outbox } from "../outbox.ts";
import type { OrphanSweep } from "../process/orphan-sweep.ts";
import {
	LAST_LINES_MS,
	OutputTail,
	ReadOutput,
	readLines,
	TAIL_CHARACTERS,
} from "../process/output.ts";
import {
	type InheritedEnvironment,
	type OwnedProcess,
	type ProcessSlot,
	recordEnd,
	startOwned,
} from "../process/owned-process.ts";
import {
	killerByKernel,
	killerOf,
	lostParentOf,
	type SentSignal,
} from "../process/process-end.ts";
import { StopLadder } from "../process/stop-ladder.ts";
import type { JobInput, ResolvedJob } from "./job-options.ts";
import { type JobEnd, type JobStop, verdictOf } from "./job-verdict.ts";
import type { JobQueue, QueueEntry } from "./jobs.ts";

/** How a job that succeeded has ended. */
export interface JobResult {
	readonly exit: ProcessExit;
	/** From its start to its end, in milliseconds. */
	readonly ranMs: number;
	/** The last lines of its standard error, oldest first. */
	readonly stderrTail: readonly string[];
}

/** What the jobs of one run have in common. */
export interface JobDependencies extends InheritedEnvironment {
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
	readonly #dependencies: JobDependencies;
	readonly #slot: Omit<ProcessSlot, "directory">;
	/** What the kernel says of its end, where that is a kill for lack of memory. */
	#evidence: string | undefined;
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

	constructor(job: ResolvedJob, dependencies: JobDependencies) {
		this.#job = job;
		this.#dependencies = dependencies;
		const incarnation = dependencies.world.registry.nextIncarnation();
		this.ref = { jobId: incarnation, program: job.spec.executable };
		const workerId = `job-${numberOf(incarnation)}`;
		this.#slot = { incarnation, workerId, pool: JOBS };
		this.over = this.#over.promise;
		this.result = this.#result.promise;
		ignoreEarlyErrors(job.input);
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
		const { world, queue } = this.#dependencies;
		const { clock, host, emit } = world;
		let entry: QueueEntry;
		try {
			entry = queue.enter();
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
		await Promise.race([entry.turn, this.#stopped.promise]);
		const owned = await this.#start();
		if (owned === undefined) this.#settle(undefined, "none");
		else await this.#run(owned, clock.now() - acceptedMs, entry);
		signal?.removeEventListener("abort", abort);
		entry.leave();
		release();
	}

	/** It is not taken. */
	refuse(error: Error): void {
		this.#phase = "ended";
		this.output.close();
		this.#over.resolve();
		this.#result.resolve(failing(error));
	}

	/** Ends it; the first reason counts. `"forced"` kills it, also while it is being ended. */
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
			const { world, runDirectory } = this.#dependencies;
			const directory = join(runDirectory, numberOf(this.#slot.incarnation));
			return await startOwned(
				this.#job.spec,
				{
					...this.#slot,
					directory,
					endedAs: () => this.#reason("start_failed"),
				},
				this.#dependencies,
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
		entry: QueueEntry,
	): Promise<void> {
		const { process } = owned;
		const { world, sweep } = this.#dependencies;
		const { clock } = world;
		const { incarnation } = this.#slot;
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
		const { exit, killer, evidence, note } = await ended;
		this.#evidence = evidence;
		if (exit !== undefined)
			await process.executed?.catch((error: unknown) =>
				this.#notStarted(error),
			);
		const reason = this.#reason("exited");
		const isDone = exit?.kind === "code" && exit.code === 0;
		const tail =
			reason !== "exited" || isDone
				? undefined
				: lastCharacters(running.tail.lines(), TAIL_CHARACTERS);
		const detail = evidence ?? note;
		const end = { exit, reason, killer, tail, detail } as const;
		recordEnd(owned, incarnation, end, world);
		sweep.noteEnded(incarnation);
		entry.leave();
		if (exit !== undefined) await this.output.finish(clock);
		this.#settle(exit, killer);
	}

	#notStarted(error: unknown): void {
		if (this.#stop !== undefined) return;
		this.#stop = { kind: "not_started", error: startError(error) };
		const { registry } = this.#dependencies.world;
		registry.failStart(this.#slot, recordedError(error));
	}

	/** @param byItself what it is where nothing stopped it. */
	#reason(byItself: "exited" | "start_failed"): EndReason {
		if (this.#stop?.kind === "not_started") return "start_failed";
		return this.#stop === undefined ? byItself : "closed";
	}

	#ending(exit: ProcessExit | undefined): JobEnd {
		const { jobId, program } = this.ref;
		const running = this.#process;
		const { okCodes } = this.#job;
		const process = running === undefined ? "" : `, pid ${running.pid}`;
		const now = this.#dependencies.world.clock.now();
		return {
			name: `Job ${jobId} (${program}${process})`,
			...{ pid: running?.pid, exit, stop: this.#stop, okCodes },
			evidence: this.#evidence,
			ranMs: running === undefined ? 0 : now - running.startedMs,
			stderrTail: running?.tail.lines() ?? [],
			tailParagraph: running?.tail.paragraph() ?? "",
		};
	}

	#settle(exit: ProcessExit | undefined, killer: Killer): void {
		this.#phase = "ended";
		this.output.close();
		closeSource(this.#job.input);
		const end = this.#ending(exit);
		this.#end = end;
		const { ranMs, stderrTail } = end;
		const { outcome, error } = verdictOf(end);
		const { clock, emit } = this.#dependencies.world;
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
		message: `A job could not be started: ${messageOf(error)}`,
		cause: error,
	});
}

const TAIL_LINES = 20;
const MAX_LINE_BYTES = 16_384;

/** The process of one job while it runs: its input, its standard error, its time limit, and its end. */
class JobProcess {
	readonly startedMs: number;
	readonly tail: OutputTail = new OutputTail(TAIL_LINES);
	/** Processes in its group that nothing proved to be of it. */
	readonly spared: number[] = [];
	readonly #owned: OwnedProcess;
	readonly #job: ResolvedJob;
	readonly #world: Pick<World, "clock" | "host" | "emit">;
	readonly #ladder: StopLadder;
	readonly #sent: SentSignal[] = [];
	/** Resolves when not even SIGKILL ends it. */
	readonly #undying = Promise.withResolvers<undefined>();

	constructor(
		owned: OwnedProcess,
		job: ResolvedJob,
		world: Pick<World, "clock" | "host" | "emit">,
	) {
		this.#owned = owned;
		this.#job = job;
		this.#world = world;
		this.startedMs = world.clock.now();
		this.#ladder = new StopLadder(job.stop, world, {
			signalled: (signal) =>
				void this.#sent.push({ signal, by: "stop_ladder" }),
			stepped: () => {},
			spared: (_, pids) => void this.spared.push(...pids),
		});
	}

	get pid(): number {
		return this.#owned.process.identity.pid;
	}

	/** Ends it: SIGTERM, then SIGKILL. A second call kills it. */
	stop(manner: CloseManner): void {
		void this.#ladder.climb(this.#owned, manner).then(({ gone }) => {
			if (!gone) this.#undying.resolve(undefined);
		});
	}

	/** Kills its group in this very turn, for the exit of the host. */
	killNow(): void {
		if (this.#owned.process.signal("SIGKILL", "group") === "sent")
			this.#sent.push({ signal: "SIGKILL", by: "application_cleanup" });
	}

	/**
	 * Resolves when the process is gone, or will not die.
	 *
	 * @param onStop called when the job is to end: its input failed, or its time is over.
	 * @param onGone called in the turn in which that is seen, before anything else.
	 */
	async run(
		onStop: (stop: JobStop) => void,
		onGone: () => void,
	): Promise<{
		readonly exit: ProcessExit | undefined;
		readonly killer: Killer;
		readonly evidence?: string | undefined;
		readonly note?: string | undefined;
	}> {
		const { process } = this.#owned;
		const { input, timeoutMs } = this.#job;
		const { clock } = this.#world;
		if (input !== undefined && process.stdin !== undefined)
			writeInput(input, process.stdin, (error) =>
				onStop({ kind: "input_failed", error }),
			);
		const stderrEnded = this.#readStderr();
		const limit =
			timeoutMs === Number.POSITIVE_INFINITY
				? undefined
				: afterRunning(clock, timeoutMs, () =>
						onStop({ kind: "timed_out", timeoutMs }),
					);
		const exit = await Promise.race([process.exited, this.#undying.promise]);
		onGone();
		limit?.cancel();
		closeSource(input);
		await this.#ladder.finish({ process });
		await resolvesWithin(stderrEnded, LAST_LINES_MS, clock);
		process.stderr.destroy();
		const killer = killerOf(exit, this.#sent, lostParentOf(process));
		const { host } = this.#world;
		return {
			exit,
			...(await killerByKernel(killer, exit, process.identity, host)),
		};
	}

	/** Resolves when standard error has ended. */
	#readStderr(): Promise<void> {
		const { clock, emit } = this.#world;
		const { onStderr } = this.#job;
		return new Promise((resolve) =>
			readLines(
				this.#owned.process.stderr,
				MAX_LINE_BYTES,
				({ text }) => {
					this.tail.push(text);
					try {
						onStderr?.(text);
					} catch (error) {
						const wallMs = clock.wall();
						emit({ type: "listener.threw", wallMs, of: "onStderr", error });
					}
				},
				resolve,
				clock,
			),
		);
	}
}

/**
 * Writes the input of a job to its program, as fast as that reads, and closes it.
 * A program that stops reading, or ends, ends the input: that is no error.
 *
 * @param onFailed called with what the input threw. Not after the input was released.
 */
function writeInput(
	input: JobInput,
	stdin: Writable,
	onFailed: (error: unknown) => void,
): void {
	async function* pieces(): AsyncGenerator<string | Uint8Array> {
		try {
			if (isPiece(input)) yield input;
			else for await (const piece of input) yield checked(piece);
		} catch (error) {
			onFailed(error);
			throw error;
		}
	}
	pipeline(pieces, stdin).catch(() => {}); // The end of the program, or what onFailed was called with.
}

function isPiece(value: unknown): value is string | Uint8Array {
	return typeof value === "string" || isUint8Array(value);
}

function checked(piece: unknown): string | Uint8Array {
	if (isPiece(piece)) return piece;
	throw new TypeError(
		`The input of a job must consist of strings and bytes (Uint8Array), got ${piece === null ? "null" : typeof piece}.`,
	);
}

/** How much is read before the caller asks for it. */
const READ_AHEAD_BYTES = 65_536;

/**
 * The standard output of one job, kept until it is read or discarded. Reads as much
 * ahead as a pipe holds; of a process that is gone, all that is left.
 */
class JobOutput {
	readonly #chunks: Uint8Array[] = [];
	#bytes = 0;
	#stdout: Readable | undefined;
	#use: "kept" | "discarded" = "kept";
	/** `"ending"`: the rest is read without a request; it is no more than a pipe holds. */
	#state: "open" | "ending" | "over" = "open";
	/** Wakes who waits for the next chunk. */
	#wake: (() => void) | undefined;

	/** The process is there. */
	attach(stdout: Readable): void {
		this.#stdout = stdout;
		stdout.on("data", (chunk: Uint8Array) => {
			if (this.#use === "discarded") return;
			this.#chunks.push(chunk);
			this.#bytes += chunk.length;
			if (this.#bytes >= READ_AHEAD_BYTES && this.#state === "open")
				stdout.pause();
			this.#wake?.();
		});
		stdout.on("error", () => {}); // What was read before is all that there is.
	}

	/** The process is gone: resolves when all of its output was read, and no process writes to it any more. */
	async finish(clock: Clock): Promise<void> {
		const stdout = this.#stdout;
		if (stdout !== undefined && !stdout.closed) {
			const read = new ReadOutput(stdout, clock);
			this.#state = "ending";
			stdout.resume();
			await read.readToTheEnd();
		}
		this.close();
	}

	/** There is no more. */
	close(): void {
		this.#state = "over";
		this.#stdout?.destroy();
		this.#wake?.();
	}

	/** Nobody will read it: the program need not wait for that. */
	discard(): void {
		this.#use = "discarded";
		this.#chunks.length = 0;
		this.#bytes = 0;
		this.#stdout?.resume();
	}

	/** The next chunk; `undefined` when there is no more. */
	async next(): Promise<Uint8Array | undefined> {
		while (this.#chunks.length === 0) {
			if (this.#state === "over") return undefined;
			await new Promise<void>((resolve) => {
				this.#wake = resolve;
			});
		}
		const chunk = this.#chunks.shift();
		this.#bytes -= chunk?.length ?? 0;
		if (this.#bytes < READ_AHEAD_BYTES) this.#stdout?.resume();
		return chunk;
	}
}
