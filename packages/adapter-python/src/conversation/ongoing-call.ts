import {
	CallTimeoutError,
	InputError,
	QueueError,
	type SnakepitError,
} from "@snakepit/core";
import { type CallOptions, RECALLED } from "@snakepit/core/adapter";
import type {
	CancelReason,
	ChunkFrame,
	EndFrame,
	FailureFrame,
	ProgressFrame,
	ResultFrame,
} from "../frames/frames.ts";
import {
	agoMs,
	monotonicUs,
	type PackedResult,
} from "../frames/packed-frames.ts";
import {
	bytesOf,
	type CallMemory,
	type EncodedValue,
} from "../shared-memory/shared-memory.ts";
import { decoder, decodeValue } from "../values/decode-value.ts";
import { releaseUnclaimed, releaseUnread } from "../values/handle.ts";
import { callAborted, errorOfFailure, type FailedCall } from "./call-errors.ts";
import type { Conversation } from "./conversation.ts";
import { InputPump } from "./input-pump.ts";

/** Where a call's answers go. Of the two ends, exactly one is called once. */
export interface CallAnswers {
	/** Called with the result; of a stream, with the tool's return value. */
	resolve(value: unknown): void;
	reject(error: SnakepitError): void;
	/** Only for streams; `bytes` is its size in transit. Returns false if the worker had no credit for it. */
	chunk?(value: unknown, bytes: number): boolean;
	/** Only for streams: the call must end, and chunks that were not taken yet are not wanted. */
	cancelled?(): void;
}

type CallState =
	| { readonly kind: "running" }
	/** Cancelled, but not over yet. `error` is what the caller gets when it fails. */
	| {
			readonly kind: "cancelling";
			readonly error: SnakepitError | undefined;
			readonly reason: unknown;
	  }
	| { readonly kind: "over" };

const RUNNING: CallState = { kind: "running" };
const OVER: CallState = { kind: "over" };

/** One call between its first frame and its terminal one. */
export class OngoingCall {
	readonly number: number;
	readonly command: string;
	readonly options: CallOptions;
	/** `undefined` until the call uses shared memory. */
	private memory: CallMemory | undefined;
	private readonly conversation: Conversation;
	private readonly answers: CallAnswers;
	private readonly input: InputPump | undefined;
	private state: CallState = RUNNING;
	/** What the last function of the host that failed for it threw. */
	hostError: { readonly error: unknown } | undefined;
	/** How many functions of the host run for it. */
	hostCalls = 0;

	constructor(
		number: number,
		command: string,
		options: CallOptions,
		memory: CallMemory | undefined,
		conversation: Conversation,
		answers: CallAnswers,
	) {
		this.number = number;
		this.command = command;
		this.options = options;
		this.memory = memory;
		this.conversation = conversation;
		this.answers = answers;
		this.input =
			options.input === undefined
				? undefined
				: new InputPump(number, options.input, conversation, (error) =>
						this.cancel(error, error),
					);
	}

	/** Asks the worker to end the call. @param error what the caller gets if the call fails now; by default, that it was aborted. */
	cancel(reason: unknown, error?: SnakepitError): void {
		if (this.state.kind !== "running") return;
		this.state = { kind: "cancelling", error, reason };
		if (this.input !== undefined) this.stopInput(this.input);
		this.answers.cancelled?.();
		this.conversation.send(
			{
				kind: "cancel",
				callId: this.number,
				reason: cancelReasonOf(reason),
			},
			"a cancel",
		);
	}

	/** The worker allows more input. */
	inputCredit(items: number): void {
		if (this.input === undefined)
			this.conversation.violated(
				`input credit for call ${this.number}, which has no input`,
			);
		else this.options.context.runInAsyncScope(() => this.input?.grant(items));
	}

	result(result: ResultFrame): void {
		const { measured, beganAgo } = this.options;
		if (result.ranUs !== undefined && measured !== undefined)
			measured.ranMs = result.ranUs / 1000;
		if (result.beganUs !== undefined)
			beganAgo?.(agoMs(result.beganUs, monotonicUs()));
		if (this.answers.chunk !== undefined)
			this.conversation.violated(`a result for the stream ${this.number}`);
		else this.answer(result, result.argumentsFree, "result");
	}

	/** Its result in the usual layout, the value of which is from `begin` to `end`. */
	packedResult(
		{ beganUs, ranUs }: PackedResult,
		bytes: Uint8Array,
		begin: number,
		end: number,
	): void {
		if (this.answers.chunk !== undefined) {
			this.conversation.violated(`a result for the stream ${this.number}`);
			return;
		}
		const { measured, beganAgo } = this.options;
		if (measured !== undefined) measured.ranMs = ranUs / 1000;
		beganAgo?.(agoMs(beganUs, monotonicUs()));
		let value: unknown;
		try {
			value = decoder.decode(
				bytes,
				undefined,
				begin,
				end,
				this.options.session,
				"read once",
			);
		} catch (error) {
			this.settle(false, error as SnakepitError);
			return;
		}
		this.settle(false, undefined, value);
	}

	chunk(chunk: ChunkFrame): void {
		const { answers } = this;
		if (answers.chunk === undefined)
			this.conversation.violated(
				`a chunk for call ${this.number}, which is not a stream`,
			);
		else if (this.state.kind === "running") {
			let value: unknown;
			try {
				value = this.decoded(chunk, "chunk", false);
			} catch (error) {
				this.cancel(error, error as SnakepitError);
				return;
			}
			if (!answers.chunk(value, bytesOf(chunk)))
				this.conversation.violated(
					`a chunk beyond the credit of call ${this.number}`,
				);
		} else this.drop(chunk);
	}

	end(end: EndFrame): void {
		const { state } = this;
		const { argumentsFree } = end;
		if (this.answers.chunk === undefined)
			this.conversation.violated(`the end of a stream for call ${this.number}`);
		else if (state.kind === "cancelling") {
			// Chunks were dropped: this is not the end that the caller asked for.
			const error =
				state.error ?? callAborted(this.failed(), "maybe", state.reason);
			this.drop(end);
			this.settle(argumentsFree, error);
		} else if (end.value.length === 0)
			this.settle(argumentsFree, undefined, null);
		else this.answer(end, argumentsFree, "chunk");
	}

	/** The tool reports its progress; it sends no other report until this one is taken. */
	progress({ fraction, message }: ProgressFrame): void {
		const { onProgress } = this.options;
		if (onProgress === undefined) {
			this.conversation.violated(
				`progress of call ${this.number}, which asked for none`,
			);
			return;
		}
		if (this.state.kind !== "running") return;
		void onProgress({ fraction, message }).then(() => {
			if (this.state.kind === "running")
				this.conversation.send(
					{ kind: "progressCredit", callId: this.number },
					"the receipt of a report",
				);
		});
	}

	/** The call was recalled before it began. */
	recalled(): void {
		this.settle(false, undefined, RECALLED);
	}

	failure(failure: FailureFrame): void {
		if (failure.code === "RECALLED") {
			this.recalled();
			return;
		}
		const { state } = this;
		const error =
			(state.kind === "cancelling" ? state.error : undefined) ??
			errorOfFailure(failure, this.failed());
		this.settle(failure.argumentsFree, error);
	}

	/** The conversation is over, and with it the call. */
	lost(error: SnakepitError): void {
		this.settle(false, error);
	}

	/** Delivers the answer. An answer that cannot be read fails only this call, not the conversation. */
	private answer(
		encoded: EncodedValue,
		argumentsFree: boolean,
		kind: "result" | "chunk",
	): void {
		let value: unknown;
		try {
			value = this.decoded(encoded, kind, argumentsFree);
		} catch (error) {
			this.settle(argumentsFree, error as SnakepitError);
			return;
		}
		this.settle(argumentsFree, undefined, value);
	}

	/** Nobody takes this value. */
	private drop(encoded: EncodedValue): void {
		if (encoded.attachment === undefined)
			releaseUnread(encoded.value, this.options.session);
		else this.conversation.discard(encoded);
	}

	/** @throws InputError `VALUE_NOT_TRANSFERABLE` when it is no value. */
	private decoded(
		{ value, attachment }: EncodedValue,
		kind: "result" | "chunk",
		argumentsFree: boolean,
	): unknown {
		if (attachment === undefined)
			return decoder.decode(
				value,
				undefined,
				0,
				value.length,
				this.options.session,
			);
		this.memory ??= this.conversation.memoryOf(this.command);
		const { memory } = this;
		return decodeAttached(value, () => {
			if (memory === undefined)
				throw new Error("an attachment, but none was agreed");
			return kind === "result"
				? memory.result(attachment, argumentsFree)
				: memory.chunk(attachment);
		});
	}

	private failed(): FailedCall {
		const { state } = this;
		return {
			workerId: this.conversation.workerId,
			command: this.command,
			cancelled:
				state.kind === "cancelling" ? { reason: state.reason } : undefined,
			inputError: this.input?.error,
			hostError: this.hostError,
		};
	}

	/** Closes the caller's iterable, whose code runs in the context of the call. */
	private stopInput(input: InputPump): void {
		this.options.context.runInAsyncScope(() => input.stop());
	}

	/** Ends the call, unless it is over: gives back what it has, and hands on its error or its value. */
	private settle(
		argumentsFree: boolean,
		error: SnakepitError | undefined,
		value?: unknown,
	): void {
		const { state } = this;
		if (state.kind === "over") return;
		this.state = OVER;
		if (this.input !== undefined) this.stopInput(this.input);
		this.memory?.close(argumentsFree);
		this.conversation.forget(this);
		if (error !== undefined) {
			this.answers.reject(error);
			return;
		}
		// The caller has its error already.
		if (state.kind === "cancelling" && state.error === undefined)
			releaseUnclaimed(value);
		this.answers.resolve(value);
	}
}

/** The reason of an AbortSignal, in the form that is sent to the worker. */
function cancelReasonOf(reason: unknown): CancelReason {
	if (reason instanceof CallTimeoutError || isTimeout(reason))
		return "DEADLINE";
	return reason instanceof QueueError && reason.code === "POOL_CLOSED"
		? "SHUTDOWN"
		: "CALLER";
}

/** The name of the error of `AbortSignal.timeout`. */
function isTimeout(reason: unknown): boolean {
	return reason instanceof DOMException && reason.name === "TimeoutError";
}

/** Reads a value with its attachment. @throws InputError `VALUE_NOT_TRANSFERABLE` when it is no value. */
function decodeAttached(value: Uint8Array, read: () => Uint8Array): unknown {
	try {
		return decodeValue(value, read());
	} catch (cause) {
		if (cause instanceof InputError) throw cause;
		throw new InputError({
			code: "VALUE_NOT_TRANSFERABLE",
			ran: "maybe",
			message: `The worker's attachment was refused: ${(cause as Error).message}.`,
			path: "$",
			cause,
		});
	}
}
