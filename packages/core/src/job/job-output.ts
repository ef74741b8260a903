import type { Readable } from "node:stream";
import type { Clock } from "../contract/clock.ts";
import { ReadOutput } from "../process/read-output.ts";

/** How much is read before the caller asks for it. */
const AHEAD_BYTES = 65_536;

/**
 * The standard output of one job, kept until it is read or discarded. Reads as much
 * ahead as a pipe holds; of a process that is gone, all that is left.
 */
export class JobOutput {
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
			if (this.#bytes >= AHEAD_BYTES && this.#state === "open") stdout.pause();
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
		if (this.#bytes < AHEAD_BYTES) this.#stdout?.resume();
		return chunk;
	}
}
