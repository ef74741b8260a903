import type { CallProgress } from "@snakepit/core";

/** MCP requires `progress` to increase with each notification. */
export interface ProgressParameters {
	readonly progress: number;
	readonly total?: number;
	readonly message: string;
}

export type Send = (parameters: ProgressParameters) => Promise<void>;

/** If a tool reports no greater fraction than before, only its message is new. */
const SMALLEST_STEP = 1e-6;

/** Sends the progress of one call to a client that asked for it. */
export class ProgressSender {
	readonly #send: Send;
	readonly #next: (
		fraction: number | undefined,
	) => Omit<ProgressParameters, "message">;
	#newest: CallProgress | undefined;
	#sending: Promise<void> | undefined;

	/** @param shape Chunks of a stream have no total, so chunks and reports are counted. */
	constructor(send: Send, shape: "unary" | "stream") {
		this.#send = send;
		this.#next = shape === "stream" ? counted() : measured();
	}

	/** Resolves when it is sent. */
	async chunk(text: string): Promise<void> {
		await this.#send({ ...this.#next(undefined), message: text });
	}

	/** Sends a report; while one is being sent, only the newest waits. */
	readonly report = (progress: CallProgress): void => {
		this.#newest = progress;
		this.#sending ??= this.#sendNewest();
	};

	/** Resolves when all reports are sent. */
	async sent(): Promise<void> {
		await this.#sending;
	}

	async #sendNewest(): Promise<void> {
		while (this.#newest !== undefined) {
			const { fraction, message } = this.#newest;
			this.#newest = undefined;
			// If the client is gone, its call is cancelled, and it needs no report.
			await this.#send({ ...this.#next(fraction), message }).catch(() => {});
		}
		this.#sending = undefined;
	}
}

function counted() {
	let count = 0;
	return () => ({ progress: ++count });
}

function measured() {
	let last = -SMALLEST_STEP;
	return (fraction: number | undefined) => {
		last = Math.max(fraction ?? 0, last + SMALLEST_STEP);
		return fraction === undefined
			? { progress: last }
			: { progress: last, total: 1 };
	};
}
