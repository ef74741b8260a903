import type { SnakepitError } from "@snakepit/core";
import type { CallOptions } from "@snakepit/core/adapter";
import type { Chunk, End, Failure, Result } from "../gen/bridge.ts";
import {
	type AttachmentName,
	bytesOf,
	type ValueImage,
} from "../shared-memory/attachment.ts";
import type { CallMemory } from "../shared-memory/call-memory.ts";
import { cancelReasonOf } from "./cancel-reason.ts";
import {
	callAborted,
	errorOfFailure,
	type FailedCall,
} from "./failure-error.ts";
import type { HostMessage } from "./frame-codec.ts";
import { InputPump } from "./input-pump.ts";
import type { ValueCrossing } from "./value-crossing.ts";

/** Where a call's answers go. Told of exactly one end. */
export interface CallAnswers {
	/** With the one result; of a stream, with what the tool returned at its end. */
	succeeded(value: unknown): void;
	failed(error: SnakepitError): void;
	/** Only for streams; `bytes` is what it had on its way. False when the worker had no credit for it. */
	chunk?(value: unknown, bytes: number): boolean;
	/** Only for streams: the call is asked to end, nobody wants what was not taken yet. */
	cancelled?(): void;
}

/** What a call needs of its conversation. */
export interface CallLine {
	readonly workerId: string;
	/** Sends a frame; @throws InputError `MESSAGE_TOO_LARGE`, nothing was sent then. */
	send(message: HostMessage, what: string): void;
	drained(): Promise<void>;
	readonly crossing: ValueCrossing;
	/** The worker broke the rules: the conversation is over. */
	violated(problem: string): void;
	/** The call is over: its number is forgotten. */
	forget(number: number): void;
}

type CallState =
	| { readonly kind: "running" }
	/** Asked to end, and not done with it. `error` is what the caller gets when it fails. */
	| {
			readonly kind: "cancelling";
			readonly error: SnakepitError | undefined;
			readonly reason: unknown;
	  }
	| { readonly kind: "over" };

/** One call between its first frame and its terminal one. */
export class OngoingCall {
	readonly number: number;
	readonly command: string;
	readonly options: CallOptions;
	private readonly memory: CallMemory | undefined;
	private readonly line: CallLine;
	private readonly answers: CallAnswers;
	private readonly input: InputPump | undefined;
	private state: CallState = { kind: "running" };

	constructor(
		number: number,
		command: string,
		options: CallOptions,
		memory: CallMemory | undefined,
		line: CallLine,
		answers: CallAnswers,
	) {
		this.number = number;
		this.command = command;
		this.options = options;
		this.memory = memory;
		this.line = line;
		this.answers = answers;
		this.input =
			options.input === undefined
				? undefined
				: new InputPump(number, options.input, line, (error) =>
						this.cancel(error, error),
					);
		options.signal.addEventListener("abort", this.onAbort);
	}

	/** Asks the worker to end the call. @param error what the caller gets when the call fails now; by default that it was aborted. */
	cancel(reason: unknown, error?: SnakepitError): void {
		if (this.state.kind !== "running") return;
		this.state = { kind: "cancelling", error, reason };
		this.input?.stop();
		this.answers.cancelled?.();
		this.line.send(
			{
				$case: "cancel",
				value: { callId: this.number, reason: cancelReasonOf(reason) },
			},
			"a cancel",
		);
	}

	/** The worker allows more input. */
	inputCredit(items: number): void {
		if (this.input === undefined)
			this.line.violated(
				`input credit for call ${this.number}, which has no input`,
			);
		else this.options.context.runInAsyncScope(() => this.input?.grant(items));
	}

	result(result: Result): void {
		const { argumentsFree } = result;
		if (this.answers.chunk !== undefined) {
			this.line.violated(`a result for the stream ${this.number}`);
			return;
		}
		const tell = this.telling(result, (memory, attachment) =>
			memory.result(attachment, argumentsFree),
		);
		this.finish(tell, argumentsFree);
	}

	chunk(chunk: Chunk): void {
		const { answers } = this;
		if (answers.chunk === undefined)
			this.line.violated(`a chunk for call ${this.number}, which is no stream`);
		else if (this.state.kind === "running") {
			let value: unknown;
			try {
				value = this.decoded(chunk, (memory, attachment) =>
					memory.chunk(attachment),
				);
			} catch (error) {
				this.cancel(error, error as SnakepitError);
				return;
			}
			if (!answers.chunk(value, bytesOf(chunk)))
				this.line.violated(`a chunk beyond the credit of call ${this.number}`);
		} else this.line.crossing.discard(chunk);
	}

	end(end: End): void {
		const { state } = this;
		const { argumentsFree } = end;
		if (this.answers.chunk === undefined)
			this.line.violated(`the end of a stream for call ${this.number}`);
		else if (state.kind === "cancelling") {
			// Chunks were dropped: this is not the end that the caller asked for.
			const error =
				state.error ?? callAborted(this.failed(), "maybe", state.reason);
			this.line.crossing.discard(end);
			this.finish(() => this.answers.failed(error), argumentsFree);
		} else if (end.value.length === 0)
			this.finish(() => this.answers.succeeded(null), argumentsFree);
		else {
			const tell = this.telling(end, (memory, attachment) =>
				memory.chunk(attachment),
			);
			this.finish(tell, argumentsFree);
		}
	}

	failure(failure: Failure): void {
		const { state } = this;
		const error =
			(state.kind === "cancelling" ? state.error : undefined) ??
			errorOfFailure(failure, this.failed());
		this.finish(() => this.answers.failed(error), failure.argumentsFree);
	}

	/** The conversation is over, and with it the call. */
	lost(error: SnakepitError): void {
		this.finish(() => this.answers.failed(error), false);
	}

	private readonly onAbort = (): void =>
		this.cancel(this.options.signal.reason);

	/** Tells the answer; one that cannot be read is the call's failure, and nothing else on the conversation is broken. */
	private telling(
		image: ValueImage,
		take: (memory: CallMemory, attachment: AttachmentName) => Uint8Array,
	): () => void {
		try {
			const value = this.decoded(image, take);
			return () => this.answers.succeeded(value);
		} catch (error) {
			return () => this.answers.failed(error as SnakepitError);
		}
	}

	/** @throws InputError `VALUE_NOT_TRANSFERABLE` when it is no value. */
	private decoded(
		image: ValueImage,
		take: (memory: CallMemory, attachment: AttachmentName) => Uint8Array,
	): unknown {
		const { memory } = this;
		return this.line.crossing.value(
			image,
			memory && ((attachment) => take(memory, attachment)),
		);
	}

	private failed(): FailedCall {
		const { state } = this;
		return {
			workerId: this.line.workerId,
			command: this.command,
			cancelled:
				state.kind === "cancelling" ? { reason: state.reason } : undefined,
			inputError: this.input?.error,
		};
	}

	private finish(tell: () => void, argumentsFree: boolean): void {
		if (this.state.kind === "over") return;
		this.state = { kind: "over" };
		this.options.signal.removeEventListener("abort", this.onAbort);
		this.input?.stop();
		this.memory?.close(argumentsFree);
		this.line.forget(this.number);
		tell();
	}
}

/** A call whose signal was aborted before anything was sent. */
export function abortedBefore(
	workerId: string,
	command: string,
	signal: AbortSignal,
): SnakepitError {
	const call = {
		workerId,
		command,
		cancelled: undefined,
		inputError: undefined,
	};
	return callAborted(call, "no", signal.reason);
}
