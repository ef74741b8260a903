import { JobError } from "../contract/errors.ts";
import { checkOptions } from "../options/check.ts";
import type { JobLife, JobResult } from "./job-life.ts";
import {
	JOB_DEFAULTS,
	LINE_CHECKS,
	type LineLimit,
	OUTPUT_CHECKS,
	type OutputLimit,
} from "./job-options.ts";

/**
 * One program for one piece of work, created by `run.job()`. It starts by itself when its turn in the queue comes. Its
 * output can be read once, in one of the ways below. Output waits for its reader: a program with more than 64 KiB of
 * unread output waits, too.
 *
 * If the job fails, each way of reading ends with its error: JobError, StartError `SPAWN_FAILED`, or RegistryError.
 */
export interface Job extends AsyncIterable<Uint8Array>, AsyncDisposable {
	/** Its name in events and in the ledger: `runId-number`. */
	readonly jobId: string;
	/** `undefined` before it is started. */
	readonly pid: number | undefined;
	/** Reads the output as it arrives. Leaving the loop early stops the job and waits until none of its processes is left. */
	[Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array>;
	/** Reads the output as lines of UTF-8, without line breaks (`\n` or `\r\n`). Leaving the loop early stops the job. */
	lines(limit?: LineLimit): AsyncIterableIterator<string>;
	/** The whole output as UTF-8. */
	text(limit?: OutputLimit): Promise<string>;
	/** The whole output. */
	bytes(limit?: OutputLimit): Promise<Uint8Array>;
	/** How the job ended. If nothing has begun to read the output, it is discarded. */
	result(): Promise<JobResult>;
	/** Stops the job if it has not ended; resolves when none of its processes is left. */
	[Symbol.asyncDispose](): Promise<void>;
}

/** A job as its caller holds it. */
export class JobHandle implements Job {
	readonly #life: JobLife;
	#output: "untaken" | "taken" = "untaken";

	constructor(life: JobLife) {
		this.#life = life;
	}

	get jobId(): string {
		return this.#life.ref.jobId;
	}

	get pid(): number | undefined {
		return this.#life.pid;
	}

	[Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array> {
		this.#take();
		return this.#chunks();
	}

	lines(limit: LineLimit = {}): AsyncIterableIterator<string> {
		checkOptions("job.lines", limit, LINE_CHECKS);
		const most = limit.maxLineBytes ?? JOB_DEFAULTS.maxLineBytes;
		this.#take();
		return linesOf(this.#chunks(), most, () =>
			this.#life.refuseOutput("line", most),
		);
	}

	async text(limit: OutputLimit = {}): Promise<string> {
		return (await this.#whole("job.text", limit)).toString("utf8");
	}

	async bytes(limit: OutputLimit = {}): Promise<Uint8Array> {
		return await this.#whole("job.bytes", limit);
	}

	async result(): Promise<JobResult> {
		if (this.#output === "untaken") {
			this.#output = "taken";
			this.#life.output.discard();
		}
		return await this.#life.result;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#life.result.catch(() => {}); // Who disposes of it does not ask how it ended.
		this.#life.stop({ kind: "abandoned" });
		this.#life.output.discard();
		await this.#life.over;
	}

	#take(): void {
		if (this.#output === "taken")
			throw new JobError({
				code: "JOB_OUTPUT_TAKEN",
				ran: "maybe",
				message: `The output of ${this.jobId} has already been read, or was discarded by result(). Read it once, in one way, and start before you call result().`,
			});
		this.#output = "taken";
		this.#life.result.catch(() => {}); // The reader gets it.
	}

	async *#chunks(): AsyncGenerator<Uint8Array, undefined> {
		const { output, result, over } = this.#life;
		let place: "within" | "at the end" = "within";
		try {
			for (;;) {
				const chunk = await output.next();
				if (chunk === undefined) break;
				yield chunk;
			}
			place = "at the end";
		} finally {
			if (place === "within") {
				this.#life.stop({ kind: "abandoned" });
				output.discard();
				await over;
			}
		}
		await result;
		return undefined;
	}

	async #whole(at: string, limit: OutputLimit): Promise<Buffer> {
		checkOptions(at, limit, OUTPUT_CHECKS);
		const most = limit.maxBytes ?? JOB_DEFAULTS.maxBytes;
		this.#take();
		const { output, result } = this.#life;
		const chunks: Uint8Array[] = [];
		let size = 0;
		for (;;) {
			const chunk = await output.next();
			if (chunk === undefined) break;
			size += chunk.length;
			if (size > most) await this.#life.refuseOutput("output", most);
			chunks.push(chunk);
		}
		await result;
		return Buffer.concat(chunks);
	}
}

const LINE_FEED = 10;

/**
 * Splits bytes into lines of bounded length, without their breaks (`\n` or `\r\n`).
 * A last line needs no break.
 *
 * @param tooLong called for a longer line; throws.
 */
export async function* linesOf(
	chunks: AsyncIterable<Uint8Array>,
	maxLineBytes: number,
	tooLong: () => Promise<never>,
): AsyncGenerator<string, undefined> {
	let parts: Uint8Array[] = [];
	let size = 0;
	const add = async (part: Uint8Array): Promise<void> => {
		size += part.length;
		if (size > maxLineBytes) await tooLong();
		parts.push(part);
	};
	const line = (): string => {
		const text = Buffer.concat(parts).toString("utf8");
		parts = [];
		size = 0;
		return text.endsWith("\r") ? text.slice(0, -1) : text;
	};
	for await (const chunk of chunks) {
		let from = 0;
		for (;;) {
			const at = chunk.indexOf(LINE_FEED, from);
			if (at < 0) break;
			await add(chunk.subarray(from, at));
			yield line();
			from = at + 1;
		}
		if (from < chunk.length) await add(chunk.subarray(from));
	}
	if (size > 0) yield line();
	return undefined;
}
