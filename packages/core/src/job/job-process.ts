import type { ProcessExit } from "../contract/identity.ts";
import { releaseSource } from "../contract/input-source.ts";
import type { Killer } from "../contract/process-registry.ts";
import type { CloseManner } from "../contract/states.ts";
import type { World } from "../contract/world.ts";
import { afterRunning } from "../deadline.ts";
import { goneWithin } from "../process/gone-within.ts";
import {
	killerOf,
	lostParentOf,
	type SentSignal,
} from "../process/killer-of.ts";
import { readLines } from "../process/output-lines.ts";
import { OutputTail } from "../process/output-tail.ts";
import type { OwnedProcess } from "../process/owned-process.ts";
import { LAST_LINES_MS } from "../process/read-output.ts";
import { StopLadder } from "../process/stop-ladder.ts";
import { writeInput } from "./job-input.ts";
import type { ResolvedJob } from "./job-options.ts";
import type { JobStop } from "./job-verdict.ts";

const TAIL_LINES = 20;
const MAX_LINE_BYTES = 16_384;

/** The process of one job while it runs: its input, its standard error, its time limit, and its end. */
export class JobProcess {
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

	/** Ends it: SIGTERM, then SIGKILL. When that has begun already, kills it at once. */
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
		releaseSource(input);
		await this.#ladder.finish({ process });
		await goneWithin({ exited: stderrEnded }, LAST_LINES_MS, clock);
		process.stderr.destroy();
		return { exit, killer: killerOf(exit, this.#sent, lostParentOf(process)) };
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
