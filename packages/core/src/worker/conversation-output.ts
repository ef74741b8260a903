import type { Readable } from "node:stream";
import { goneWithin } from "../process/gone-within.ts";
import { OWN_END_MS } from "../process/stop-ladder.ts";
import type { Clock, StartedProcess } from "../world.ts";

/**
 * What a dead worker wrote and was not read yet is at most what a pipe holds: that
 * is there at once. Something else may hold the output open for ever, so it is
 * awaited no longer than this after the last byte.
 */
export const QUIET_MS = 1_000;
/** A consumer that reads slowly gets so much time for what is left. */
const MOST_MS = 10_000;

/**
 * The standard output of a worker whose adapter reads it: the conversation.
 *
 * Only looks at it. The adapter reads, and may let it wait.
 */
export class ConversationOutput {
	/** Resolves when the adapter has read all of it, and no process holds it any more. Never rejects. */
	readonly #ended: Promise<void>;
	readonly #process: Pick<StartedProcess, "exited">;
	readonly #stdout: Readable;
	readonly #clock: Clock;
	#state: "open" | "ended" = "open";
	#read: Promise<void> | undefined;

	constructor(
		process: Pick<StartedProcess, "stdout" | "exited">,
		clock: Clock,
	) {
		const { stdout } = process;
		this.#process = process;
		this.#stdout = stdout;
		this.#clock = clock;
		this.#ended = new Promise((resolve) => {
			const end = (): void => {
				this.#state = "ended";
				resolve();
			};
			for (const event of ["end", "close", "error"]) stdout.once(event, end);
		});
	}

	get hasEnded(): boolean {
		return this.#state === "ended";
	}

	/**
	 * @param onEnd it has ended. Most often the process ends at once after it, which explains more.
	 * @param onOutlived it has ended, and the process has not.
	 */
	watch(onEnd: () => void, onOutlived: () => void): void {
		void this.#ended
			.then(onEnd)
			.then(() => goneWithin(this.#process, OWN_END_MS, this.#clock))
			.then((gone) => {
				if (!gone) onOutlived();
			});
	}

	/** For a process that is gone: resolves when what it wrote was read, or will not be. */
	finalOutput(): Promise<void> {
		this.#read ??= this.#readToTheEnd();
		return this.#read;
	}

	async #readToTheEnd(): Promise<void> {
		const begunMs = this.#clock.now();
		while (
			this.#state === "open" &&
			this.#clock.now() - begunMs < MOST_MS &&
			(await this.#goesOn())
		);
	}

	/** Whether something was read in the time, or the adapter lets it wait. */
	async #goesOn(): Promise<boolean> {
		const before = taken(this.#stdout);
		await new Promise<void>((resolve) => {
			const timer = this.#clock.after(QUIET_MS, resolve);
			void this.#ended.then(() => {
				timer.cancel();
				resolve();
			});
		});
		return this.#stdout.readableLength > 0 || taken(this.#stdout) !== before;
	}
}

/** Changes when something is read. A pipe or a socket also counts what it has read. */
function taken(stream: Readable & { readonly bytesRead?: number }): string {
	return `${stream.bytesRead ?? 0} ${stream.readableLength}`;
}
