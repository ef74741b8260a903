import type { SnakepitError } from "@snakepit/core";
import { CreditWindow, type StreamCredit } from "./credit-window.ts";
import type { CallAnswers, OngoingCall } from "./ongoing-call.ts";

type Step = IteratorResult<unknown, undefined>;
/** What arrived before it was asked for. */
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
	/** The consumer left; the worker is not done with it yet. */
	| { readonly kind: "leaving" }
	/** No more arrives; what is buffered is still to be taken, then the error. */
	| { readonly kind: "over"; readonly error: SnakepitError | undefined };

const DONE: Step = { done: true, value: undefined };

/**
 * The consumer's side of a stream. The call begins with the first `next()`; the
 * window of credit is all that is ever buffered.
 */
export class ChunkStream
	implements AsyncIterableIterator<unknown, undefined>, CallAnswers
{
	private readonly window: CreditWindow;
	private readonly begin: (stream: ChunkStream) => OngoingCall;
	private readonly allow: (call: OngoingCall, chunks: number) => void;
	private readonly buffered: Arrived[] = [];
	private readonly demands: Demand[] = [];
	private readonly settled = Promise.withResolvers<void>();
	private state: StreamState = { kind: "fresh" };

	/**
	 * @param begin sends the call. Throws when it cannot.
	 * @param allow sends credit.
	 */
	constructor(
		credit: StreamCredit,
		begin: (stream: ChunkStream) => OngoingCall,
		allow: (call: OngoingCall, chunks: number) => void,
	) {
		this.window = new CreditWindow(credit);
		this.begin = begin;
		this.allow = allow;
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
		this.buffered.length = 0;
		if (state.kind === "fresh" || state.kind === "over") {
			this.state = { kind: "over", error: undefined };
			return DONE;
		}
		if (state.kind === "running") {
			this.state = { kind: "leaving" };
			state.call.cancel(
				new DOMException("The consumer of the stream left.", "AbortError"),
			);
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

	/** The stream ended well. */
	succeeded(): void {
		this.over(undefined);
	}

	failed(error: SnakepitError): void {
		this.over(error);
	}

	cancelled(): void {
		this.buffered.length = 0;
	}

	private start(): void {
		try {
			this.state = { kind: "running", call: this.begin(this) };
		} catch (error) {
			this.over(error as SnakepitError);
		}
	}

	private taken({ value, bytes }: Arrived): Step {
		const grant = this.window.take(bytes);
		if (grant > 0 && this.state.kind === "running")
			this.allow(this.state.call, grant);
		return { done: false, value };
	}

	private over(error: SnakepitError | undefined): void {
		this.state = {
			kind: "over",
			error: this.state.kind === "leaving" ? undefined : error,
		};
		for (const demand of this.demands.splice(0)) demand.resolve(this.ending());
		this.settled.resolve();
	}

	/** The error is told once; afterwards the stream is just over. */
	private async ending(): Promise<Step> {
		const { state } = this;
		this.state = { kind: "over", error: undefined };
		if (state.kind === "over" && state.error !== undefined) throw state.error;
		return DONE;
	}
}
