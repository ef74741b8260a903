import type { Clock } from "../contract/clock.ts";
import type { StartedProcess } from "../contract/world.ts";
import { goneWithin } from "../process/gone-within.ts";
import { ReadOutput } from "../process/read-output.ts";
import { OWN_END_MS } from "../process/stop-ladder.ts";

/** What a worker writes and its adapter reads: standard output where that is the conversation, and its streams. */
export class ConversationOutput {
	readonly #process: Pick<StartedProcess, "exited">;
	readonly #clock: Clock;
	/** Standard output, where it is the conversation. What its end means is the adapter's to say. */
	readonly stdout: ReadOutput | undefined;
	readonly #streams: readonly ReadOutput[];
	#read: Promise<void> | undefined;

	/** @param ownsStdout whether standard output is the conversation. */
	constructor(
		process: Pick<StartedProcess, "stdout" | "streams" | "exited">,
		ownsStdout: boolean,
		clock: Clock,
	) {
		this.#process = process;
		this.#clock = clock;
		this.stdout = ownsStdout
			? new ReadOutput(process.stdout, clock)
			: undefined;
		this.#streams = [...process.streams.values()].map(
			(stream) => new ReadOutput(stream, clock),
		);
	}

	/**
	 * @param onEnd standard output has ended. Most often the process ends at once after it, which explains more.
	 * @param onOutlived it has ended, and the process has not.
	 */
	watch(onEnd: () => void, onOutlived: () => void): void {
		void this.stdout?.ended
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
		const read = this.#streams.filter(({ isRead }) => isRead);
		const all = [this.stdout ?? [], read].flat();
		await Promise.all(all.map((output) => output.readToTheEnd()));
	}
}
