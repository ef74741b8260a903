import type { SnakepitError } from "@snakepit/core";
import {
	abortable,
	type CallOptions,
	type Cancellation,
	type Connection,
	type PingReply,
	type WorkerLogRecord,
	type WorkerProcess,
	type WorkerSlot,
} from "@snakepit/core/adapter";
import type { FrameChannel, FrameListener } from "../channel/frame-channel.ts";
import { MESSAGE_PACK } from "../frames/frame-codec.ts";
import type {
	FrameCodec,
	HostFrame,
	LogFrame,
	ToolRecord,
	WorkerFrame,
} from "../frames/frames.ts";
import { packedResult, RESULT_HEAD_BYTES } from "../frames/packed-frames.ts";
import type { BegunMarks, CallPage } from "../shared-memory/call-page.ts";
import type {
	CallMemory,
	EncodedValue,
	SharedMemory,
} from "../shared-memory/shared-memory.ts";
import { abortedBefore, conversationBroken } from "./call-errors.ts";
import { callFrame, messageTooLarge } from "./call-frame.ts";
import { ChunkStream, type StreamCredit } from "./chunk-stream.ts";
import { type HostFunction, HostFunctions } from "./host-functions.ts";
import { type CallAnswers, OngoingCall } from "./ongoing-call.ts";
import { PrefetchedCalls } from "./prefetched-calls.ts";

/** The parts of the worker's process that a conversation needs. */
export interface ConversationProcess
	extends Pick<WorkerProcess, "log" | "broken"> {
	readonly slot: Pick<WorkerSlot, "workerId">;
}

/** The settings of a conversation. */
export interface ConversationOptions {
	/** How many calls the worker takes at a time. */
	readonly callsAtOnce: number;
	readonly maxMessageBytes: number;
	readonly streamCredit: StreamCredit;
	readonly hostFunctions: ReadonlyMap<string, HostFunction>;
	/** Source files that the worker has loaded, after a moment in milliseconds since the Unix epoch. */
	readonly sources?:
		| ((files: readonly string[], sinceMs: number) => void)
		| undefined;
	/** How large values are handed over; `undefined` if they are sent as messages. */
	readonly sharedMemory: SharedMemory | undefined;
	/** Where the worker notes which call it began last; `undefined` if no call is prefetched. */
	readonly callPage: CallPage | undefined;
	/** Where a worker of several calls notes which of them it began; `undefined` without shared memory. */
	readonly begunMarks: BegunMarks | undefined;
}

type ConversationState =
	| { readonly kind: "open" }
	/** The worker was asked to leave: no more calls will come. */
	| { readonly kind: "leaving" }
	| { readonly kind: "over"; readonly problem: string };

/** All calls of one worker, on one channel. Every call settles exactly once. */
export class Conversation implements Connection, FrameListener {
	readonly workerId: string;
	private readonly process: ConversationProcess;
	private readonly setting: ConversationOptions;
	private readonly hostFunctions: HostFunctions;
	private readonly calls: OngoingCalls = Object.create(null);
	private callsOngoing = 0;
	private readonly overWith = Promise.withResolvers<void>();
	private channel: FrameChannel | undefined;
	private state: ConversationState = { kind: "open" };
	readonly prefetch: PrefetchedCalls | undefined;
	/** Its number. */
	lastCall = 0;
	private lastPing = 0;

	constructor(process: ConversationProcess, setting: ConversationOptions) {
		this.workerId = process.slot.workerId;
		this.process = process;
		this.setting = setting;
		const { callPage, hostFunctions, sharedMemory } = setting;
		this.prefetch =
			callPage &&
			new PrefetchedCalls(
				callPage,
				this.calls,
				(command) => sharedMemory?.resultBytes.has(command) === true,
				(answer) => this.frame(answer, 0, answer.length, MESSAGE_PACK),
			);
		this.hostFunctions = new HostFunctions(hostFunctions, (message, what) =>
			this.send(message, what),
		);
	}

	/** Takes the channel that this listens to. */
	attach(channel: FrameChannel): void {
		this.channel = channel;
		const { sharedMemory } = this.setting;
		if (channel.sideband !== undefined)
			sharedMemory?.store.attach?.(channel.sideband);
	}

	execute(
		command: string,
		args: unknown,
		options: CallOptions,
	): Promise<unknown> {
		const answers = Promise.withResolvers<unknown>();
		try {
			this.begin(command, args, options, answers);
		} catch (error) {
			answers.reject(error);
		}
		return answers.promise;
	}

	stream(
		command: string,
		args: unknown,
		options: CallOptions,
	): AsyncIterableIterator<unknown> {
		const { streamCredit } = this.setting;
		return new ChunkStream(this, command, args, options, streamCredit);
	}

	async ping(signal: AbortSignal): Promise<PingReply> {
		const { callsRunning } = await this.openChannel().ping(
			++this.lastPing,
			signal,
		);
		return { callsRunning };
	}

	/** Describes the worker's tools. */
	describe(signal: AbortSignal): Promise<readonly ToolRecord[]> {
		return this.openChannel().describe(signal);
	}

	/** Whether calls can be made. */
	get isOpen(): boolean {
		return this.state.kind === "open";
	}

	endSession(sessionId: string): void {
		this.send({ kind: "sessionEnd", sessionId }, "the end of a session");
	}

	async leave(signal: AbortSignal): Promise<void> {
		if (this.state.kind === "over") return;
		signal.throwIfAborted();
		this.state = { kind: "leaving" };
		this.channel?.end();
		await abortable(this.overWith.promise, signal);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.conclude("it was closed by this program");
	}

	// What the channel reports:

	frame(
		bytes: Uint8Array,
		begin: number,
		end: number,
		codec: FrameCodec,
	): void {
		const result = packedResult(bytes, begin, end);
		if (result === undefined) this.decoded(bytes, begin, end, codec);
		// A frame about a call that is over crossed with its end, and is dropped.
		else
			this.calls[result.callId]?.packedResult(
				result,
				bytes,
				begin + RESULT_HEAD_BYTES,
				end,
			);
	}

	sideband(name: string, offset: number, bytes: Uint8Array): void {
		this.setting.sharedMemory?.store.arrived?.(name, offset, bytes);
	}

	over(error: Error | undefined): void {
		if (this.state.kind === "leaving") this.conclude("the worker left");
		else if (error === undefined) this.break("the worker ended it");
		else this.break(error.message, error);
	}

	// For calls and host functions:

	send(message: HostFrame, what: string): void {
		if (this.channel === undefined) return;
		const frame = this.channel.codec.encode(message);
		const { maxMessageBytes } = this.setting;
		if (frame.length > maxMessageBytes)
			throw messageTooLarge(what, maxMessageBytes, frame.length);
		if (this.state.kind !== "over") this.channel.send(frame);
	}

	drained(): Promise<void> {
		return this.channel?.drained() ?? Promise.resolve();
	}

	violated(problem: string): void {
		this.break(`the worker sent ${problem}`);
	}

	/** The call is over: its number is removed. */
	forget(call: OngoingCall): void {
		delete this.calls[call.number];
		this.callsOngoing--;
		if (this.hostFunctions.running.size > 0) this.hostFunctions.callOver(call);
	}

	/** The part of the shared memory that a call uses whose answer needs it; `undefined` without shared memory. */
	memoryOf(command: string): CallMemory | undefined {
		return this.setting.sharedMemory?.call(command);
	}

	/** Removes the attachment of a value that will not be read. */
	discard({ attachment }: EncodedValue): void {
		if (attachment !== undefined)
			this.setting.sharedMemory?.discard(attachment);
	}

	/** Sends a call. @throws SnakepitError when it was not sent. */
	begin(
		command: string,
		args: unknown,
		options: CallOptions,
		answers: CallAnswers,
		credit?: StreamCredit,
	): OngoingCall {
		if (this.channel === undefined || this.state.kind !== "open")
			throw this.notOpen();
		const cancellation = options.cancellation ?? cancellationOf(options);
		if (cancellation.isRequested)
			throw abortedBefore(this.workerId, command, options.signal);
		const { callsAtOnce, maxMessageBytes, sharedMemory } = this.setting;
		const { frame, memory } = callFrame(
			this,
			command,
			args,
			options,
			maxMessageBytes,
			sharedMemory,
			this.channel.codec,
			credit,
		);
		// A getter in the arguments may have ended the call, or the conversation, while they were read.
		const refusal =
			(this.state as ConversationState).kind !== "open"
				? this.notOpen()
				: cancellation.isRequested
					? abortedBefore(this.workerId, command, options.signal)
					: frame.length > maxMessageBytes
						? messageTooLarge(
								`The arguments of "${command}"`,
								maxMessageBytes,
								frame.length,
							)
						: undefined;
		if (refusal !== undefined) {
			// Nothing is sent.
			memory?.close(true);
			throw refusal;
		}
		// No other call can join it, and the worker is idle: it waits neither for the rest of this turn nor for the previous
		// answer.
		const isAlone = callsAtOnce === 1 && this.callsOngoing === 0;
		this.channel.send(frame, isAlone ? "now" : undefined);
		if (sharedMemory !== undefined && sharedMemory.segments.gone.length > 0)
			sharedMemory.segments.gone = [];
		const number = ++this.lastCall;
		const call = new OngoingCall(
			number,
			command,
			options,
			memory,
			this,
			answers,
		);
		this.calls[number] = call;
		this.callsOngoing++;
		cancellation.onRequested = (reason) => call.cancel(reason);
		return call;
	}

	private decoded(
		bytes: Uint8Array,
		begin: number,
		end: number,
		codec: FrameCodec,
	): void {
		let frame: WorkerFrame;
		try {
			frame = codec.decode(bytes, begin, end);
		} catch (error) {
			this.break(`a malformed frame of ${end - begin} bytes arrived`, error);
			return;
		}
		if (frame.kind === "hostCallCancel")
			this.hostFunctions.drop(frame.hostCallId);
		else if (frame.kind === "sources")
			this.setting.sources?.(frame.files, frame.sinceUs / 1_000);
		else this.ofCall(frame);
	}

	/** A frame about a call. If the call is over, the frame crossed with its end, and is dropped. */
	private ofCall(
		frame: Exclude<
			WorkerFrame,
			{ readonly kind: "hostCallCancel" | "sources" }
		>,
	): void {
		const call = this.calls[frame.callId];
		switch (frame.kind) {
			case "result":
				if (call === undefined) this.discard(frame);
				else call.result(frame);
				break;
			case "chunk":
				if (call === undefined) this.discard(frame);
				else call.chunk(frame);
				break;
			case "end":
				if (call === undefined) this.discard(frame);
				else call.end(frame);
				break;
			case "failure":
				call?.failure(frame);
				break;
			case "inputCredit":
				call?.inputCredit(frame.chunks);
				break;
			case "progress":
				call?.progress(frame);
				break;
			case "hostCall":
				if (call !== undefined) this.hostFunctions.begin(call, frame);
				break;
			case "log":
				this.process.log(logRecordOf(frame, call?.options.callId));
		}
	}

	private openChannel(): FrameChannel {
		if (this.channel !== undefined && this.state.kind === "open")
			return this.channel;
		throw this.notOpen();
	}

	private notOpen(): SnakepitError {
		const problem =
			this.state.kind === "over"
				? this.state.problem
				: "the worker was asked to leave";
		return conversationBroken(this.workerId, problem, "no");
	}

	private break(problem: string, cause?: unknown): void {
		const { state } = this;
		if (state.kind === "over") return;
		this.conclude(problem, cause);
		if (state.kind === "open")
			this.process.broken(
				conversationBroken(this.workerId, problem, "maybe", cause),
			);
	}

	private conclude(problem: string, cause?: unknown): void {
		if (this.state.kind === "over") return;
		this.state = { kind: "over", problem };
		this.channel?.close();
		const calls = Object.values(this.calls);
		const neverBegun =
			this.prefetch?.end() ?? this.setting.begunMarks?.end(calls);
		this.setting.sharedMemory?.close();
		for (const call of calls) {
			const ran = neverBegun?.has(call) ? "no" : "maybe";
			call.lost(conversationBroken(this.workerId, problem, ran, cause));
		}
		this.overWith.resolve();
	}
}

/** The cancellation of a call outside of a pool: it follows the call's signal. */
function cancellationOf({ signal }: CallOptions): Cancellation {
	const cancellation: Cancellation = {
		get isRequested() {
			return signal.aborted;
		},
		onRequested: undefined,
	};
	signal.addEventListener(
		"abort",
		() => cancellation.onRequested?.(signal.reason),
		{ once: true },
	);
	return cancellation;
}

/**
 * The calls that are not over, by number, in the order in which they were made.
 *
 * Not a `Map`, which keeps calls that are over from the garbage collector (see `arrival-list.ts` of core).
 */
export type OngoingCalls = Record<number, OngoingCall>;

/** One of Python's records, as core reports it. */
function logRecordOf(
	log: LogFrame,
	callId: string | undefined,
): WorkerLogRecord {
	return {
		level: levelOf(log.level),
		logger: log.logger,
		message: log.message,
		wallMs: log.timeUs / 1000,
		...(callId !== undefined && { callId }),
		...(log.traceback !== "" && { traceback: log.traceback }),
		...(log.handled && { handledBy: "worker" as const }),
		...(log.traceId !== "" && { traceId: log.traceId }),
		...(log.spanId !== "" && { spanId: log.spanId }),
	};
}

/** Levels between Python's own belong to the next lower one. */
function levelOf(level: number): WorkerLogRecord["level"] {
	if (level < 20) return "debug";
	if (level < 30) return "info";
	if (level < 40) return "warning";
	return level < 50 ? "error" : "critical";
}
