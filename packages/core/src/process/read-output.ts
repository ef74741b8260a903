import { finished, type Readable } from "node:stream";
import type { Clock } from "../contract/clock.ts";

/**
 * What a dead process wrote and was not read yet is at most what a pipe holds: that
 * is there at once. Something else may hold the output open for ever, so it is
 * awaited no longer than this after the last byte.
 */
export const QUIET_MS = 1_000;
/** Something that left the group may hold an output open: the last lines of a dead process are awaited this long. */
export const LAST_LINES_MS = 100;
/** A consumer that reads slowly gets so much time for what is left. */
const MOST_MS = 10_000;

/**
 * A stream from a process that other code reads: an adapter, or the reader of a job's output.
 *
 * Only looks at it. The reader may let it wait.
 */
export class ReadOutput {
	/** Resolves when all of it was read, and no process holds it any more. Never rejects. */
	readonly ended: Promise<void>;
	readonly #stream: Readable;
	readonly #clock: Clock;
	#state: "open" | "ended" = "open";

	constructor(stream: Readable, clock: Clock) {
		this.#stream = stream;
		this.#clock = clock;
		this.ended = new Promise((resolve) => {
			// The output of a forked worker may have ended before its start was reported.
			finished(stream, { writable: false }, () => {
				this.#state = "ended";
				resolve();
			});
		});
	}

	get hasEnded(): boolean {
		return this.#state === "ended";
	}

	/** Whether its reader has ever begun. */
	get isRead(): boolean {
		return this.#stream.readableFlowing !== null;
	}

	/** For a process that is gone: resolves when what it wrote was read, or will not be. */
	async readToTheEnd(): Promise<void> {
		const begunMs = this.#clock.now();
		while (
			this.#state === "open" &&
			this.#clock.now() - begunMs < MOST_MS &&
			(await this.#goesOn())
		);
	}

	/** Whether something was read in the time, or the reader lets it wait. */
	async #goesOn(): Promise<boolean> {
		const before = taken(this.#stream);
		await new Promise<void>((resolve) => {
			// After a turn that was too long, what has arrived meanwhile is read first.
			const look = (): void => this.#clock.soon(resolve);
			const timer = this.#clock.after(QUIET_MS, look);
			void this.ended.then(() => {
				timer.cancel();
				resolve();
			});
		});
		return this.#stream.readableLength > 0 || taken(this.#stream) !== before;
	}
}

/** Changes when something is read. A pipe or a socket also counts what it has read. */
function taken(stream: Readable & { readonly bytesRead?: number }): string {
	return `${stream.bytesRead ?? 0} ${stream.readableLength}`;
}
