import type { Readable } from "node:stream";
import type { Clock } from "../world.ts";

/**
 * What a dead worker wrote and was not read yet is at most what a pipe holds: that
 * is there at once. Something else may hold the output open for ever, so it is
 * awaited no longer than this after the last byte.
 */
export const QUIET_MS = 1_000;
/** A consumer that reads slowly gets so much time for what is left. */
const MOST_MS = 10_000;

/**
 * A stream from a worker that its adapter reads.
 *
 * Only looks at it. The adapter reads, and may let it wait.
 */
export class ReadOutput {
	/** Resolves when the adapter has read all of it, and no process holds it any more. Never rejects. */
	readonly ended: Promise<void>;
	readonly #stream: Readable;
	readonly #clock: Clock;
	#state: "open" | "ended" = "open";

	constructor(stream: Readable, clock: Clock) {
		this.#stream = stream;
		this.#clock = clock;
		this.ended = new Promise((resolve) => {
			const end = (): void => {
				this.#state = "ended";
				resolve();
			};
			for (const event of ["end", "close", "error"]) stream.once(event, end);
		});
	}

	get hasEnded(): boolean {
		return this.#state === "ended";
	}

	/** Whether the adapter has ever begun to read it. */
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

	/** Whether something was read in the time, or the adapter lets it wait. */
	async #goesOn(): Promise<boolean> {
		const before = taken(this.#stream);
		await new Promise<void>((resolve) => {
			const timer = this.#clock.after(QUIET_MS, resolve);
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
