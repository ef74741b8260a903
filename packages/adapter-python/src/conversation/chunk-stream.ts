import type { SnakepitError } from "@snakepit/core";
import type { CallOptions } from "@snakepit/core/adapter";
import { releaseUnclaimed } from "../values/handle.ts";
import type { Conversation } from "./conversation.ts";
import type { CallAnswers, OngoingCall } from "./ongoing-call.ts";

/** The least number of bytes that a chunk counts: an object costs more than its encoding. */
const LEAST_COUNTED_BYTES = 256;

/** How far a worker may send ahead of the consumer. */
export interface StreamCredit {
	/** So many chunks. */
	readonly chunks: number;
	/** Allows more, while all chunks in transit have fewer bytes than this together; 0: never. */
	readonly smallBytes: number;
}

/** The credit of one stream. */
class CreditWindow {
	readonly credit: StreamCredit;
	/** The chunks that arrived and were not granted again. */
	private outChunks = 0;
	private outBytes = 0;
	/** The chunks that the consumer took since the last grant. */
	private takenChunks = 0;
	private takenBytes = 0;

	constructor(credit: StreamCredit) {
		this.credit = credit;
	}

	/** A chunk arrived; false when the worker had no credit for it. */
	arrive(bytes: number): boolean {
		const { chunks, smallBytes } = this.credit;
		if (this.outChunks >= chunks && this.outBytes >= smallBytes) return false;
		this.outChunks++;
		this.outBytes += countedBytes(bytes);
		return true;
	}

	/** The consumer took a chunk; returns how many more to allow now. Half a window at a time, to save frames. */
	take(bytes: number): number {
		const { chunks, smallBytes } = this.credit;
		this.takenChunks++;
		this.takenBytes += countedBytes(bytes);
		if (
			this.takenChunks < Math.max(1, Math.floor(chunks / 2)) ||
			this.takenBytes < smallBytes / 2
		)
			return 0;
		const grant = this.takenChunks;
		this.outChunks -= grant;
		this.outBytes -= this.takenBytes;
		this.takenChunks = 0;
		this.takenBytes = 0;
		return grant;
	}
}

/** The size that a chunk or an item counts. */
export function countedBytes(bytes: number): number {
	return Math.max(bytes, LEAST_COUNTED_BYTES);
}

type Step = IteratorResult<unknown, unknown>;
/** Chunks that arrived before the consumer asked for them. */
interface Arrived {
	readonly value: unknown;
	readonly bytes: number;
}
interface Demand {
	readonly resolve: (step: Step | Promise<Step>) => void;
}

type StreamState =
	| { readonly kind: "fresh" }
	| { readonly kind: "running"; readonly call: OngoingCall }
	/** The consumer left; the worker has not finished yet. */
	| { readonly kind: "leaving" }
	/** No more chunks arrive; the consumer still gets the buffered ones, then the end. */
	| { readonly kind: "over"; readonly end: StreamEnd };
/** How it ended: the last step, returned once. */
type StreamEnd =
	| { readonly kind: "returned"; readonly value: unknown }
	| { readonly kind: "failed"; readonly error: SnakepitError };

const DONE: Step = { done: true, value: undefined };
const NOTHING: StreamEnd = { kind: "returned", value: undefined };

/**
 * The consumer's side of a stream. The call begins with the first `next()`; never more than the window of credit is
 * buffered.
 */
export class ChunkStream
	implements AsyncIterableIterator<unknown, unknown>, CallAnswers
{
	private readonly window: CreditWindow;
	private readonly conversation: Conversation;
	private readonly command: string;
	private readonly args: unknown;
	private readonly options: CallOptions;
	private readonly buffered: Arrived[] = [];
	private readonly demands: Demand[] = [];
	private readonly settled = Promise.withResolvers<void>();
	private state: StreamState = { kind: "fresh" };

	constructor(
		conversation: Conversation,
		command: string,
		args: unknown,
		options: CallOptions,
		credit: StreamCredit,
	) {
		this.conversation = conversation;
		this.command = command;
		this.args = args;
		this.options = options;
		this.window = new CreditWindow(credit);
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	async next(): Promise<Step> {
		if (this.state.kind === "fresh") this.start();
		if (this.state.kind === "over" && this.buffered.length === 0)
			return this.ending();
		const arrived = this.buffered.shift();
		if (arrived !== undefined) return this.taken(arrived);
		return new Promise((resolve) => this.demands.push({ resolve }));
	}

	async return(): Promise<Step> {
		const { state } = this;
		this.cancelled();
		if (state.kind === "fresh" || state.kind === "over") {
			this.state = { kind: "over", end: NOTHING };
			return DONE;
		}
		if (state.kind === "running") {
			this.state = { kind: "leaving" };
			state.call.cancel(leftEarly());
		}
		await this.settled.promise;
		return DONE;
	}

	/** The worker sent a chunk. */
	chunk(value: unknown, bytes: number): boolean {
		if (!this.window.arrive(bytes)) return false;
		const demand = this.demands.shift();
		if (demand === undefined) this.buffered.push({ value, bytes });
		else demand.resolve(this.taken({ value, bytes }));
		return true;
	}

	/** The stream ended well, and the tool returned this. */
	resolve(value: unknown): void {
		this.over({ kind: "returned", value });
	}

	reject(error: SnakepitError): void {
		this.over({ kind: "failed", error });
	}

	cancelled(): void {
		for (const { value } of this.buffered.splice(0)) releaseUnclaimed(value);
	}

	private start(): void {
		try {
			const { conversation, command, args, options } = this;
			const { credit } = this.window;
			const call = conversation.begin(command, args, options, this, credit);
			// A getter in the arguments may have left the stream.
			if (this.state.kind === "fresh") this.state = { kind: "running", call };
			else call.cancel(leftEarly());
		} catch (error) {
			this.reject(error as SnakepitError);
		}
	}

	private taken({ value, bytes }: Arrived): Step {
		const grant = this.window.take(bytes);
		if (grant > 0 && this.state.kind === "running")
			this.conversation.send(
				{
					kind: "credit",
					callId: this.state.call.number,
					chunks: grant,
				},
				"credit",
			);
		return { done: false, value };
	}

	private over(end: StreamEnd): void {
		this.state = {
			kind: "over",
			end: this.state.kind === "leaving" ? NOTHING : end,
		};
		for (const demand of this.demands.splice(0)) demand.resolve(this.ending());
		this.settled.resolve();
	}

	/** The result or the error is returned once; afterwards, the stream is over. */
	private async ending(): Promise<Step> {
		const { state } = this;
		this.state = { kind: "over", end: NOTHING };
		if (state.kind !== "over") return DONE;
		const { end } = state;
		if (end.kind === "failed") throw end.error;
		return { done: true, value: end.value };
	}
}

function leftEarly(): DOMException {
	return new DOMException(
		"The consumer stopped reading the stream.",
		"AbortError",
	);
}
