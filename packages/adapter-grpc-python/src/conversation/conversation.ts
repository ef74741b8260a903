import type {
	CallOptions,
	Connection,
	PingReply,
	WorkerProcess,
	WorkerSlot,
} from "@snakepit/core/adapter";
import { abortable } from "../abortable.ts";
import type { FrameChannel, FrameListener } from "../channel/frame-channel.ts";
import type { DescribeResponse } from "../gen/bridge.ts";
import type { CallMemory } from "../shared-memory/call-memory.ts";
import type { SharedMemory } from "../shared-memory/shared-memory.ts";
import { callFrame } from "./call-frame.ts";
import { ChunkStream } from "./chunk-stream.ts";
import type { StreamCredit } from "./credit-window.ts";
import { dispatchFrame, type FrameTargets } from "./dispatch-frame.ts";
import { conversationBroken } from "./failure-error.ts";
import {
	decodeFrame,
	encodeFrame,
	type HostMessage,
	type WorkerMessage,
} from "./frame-codec.ts";
import { type HostFunction, HostFunctions } from "./host-functions.ts";
import { messageTooLarge } from "./message-limit.ts";
import {
	abortedBefore,
	type CallAnswers,
	type CallLine,
	OngoingCall,
} from "./ongoing-call.ts";
import { ValueCrossing } from "./value-crossing.ts";

/** What a conversation is held under. */
export interface ConversationSetting {
	/** How many calls the worker takes at once. */
	readonly callsAtOnce: number;
	readonly maxMessageBytes: number;
	readonly streamCredit: StreamCredit;
	readonly hostFunctions: ReadonlyMap<string, HostFunction>;
	/** How large values are handed over; `undefined` where they are sent. */
	readonly sharedMemory: SharedMemory | undefined;
}

/** The process at the other end, as far as a conversation needs it. */
export interface ConversationProcess
	extends Pick<WorkerProcess, "log" | "broken"> {
	readonly slot: Pick<WorkerSlot, "workerId">;
}

type ConversationState =
	| { readonly kind: "open" }
	/** We said that no more calls will come. */
	| { readonly kind: "leaving" }
	| { readonly kind: "over"; readonly problem: string };

/** All calls of one worker, on one channel. Every call settles exactly once. */
export class Conversation implements Connection, FrameListener, CallLine {
	readonly workerId: string;
	private readonly process: ConversationProcess;
	private readonly setting: ConversationSetting;
	private readonly hostFunctions: HostFunctions;
	private readonly targets: FrameTargets;
	readonly crossing: ValueCrossing;
	private readonly calls = new Map<number, OngoingCall>();
	private readonly overWith = Promise.withResolvers<void>();
	private channel: FrameChannel | undefined;
	private state: ConversationState = { kind: "open" };
	private lastCall = 0;
	private lastPing = 0;

	constructor(process: ConversationProcess, setting: ConversationSetting) {
		this.workerId = process.slot.workerId;
		this.process = process;
		this.setting = setting;
		this.crossing = new ValueCrossing(setting.sharedMemory);
		this.hostFunctions = new HostFunctions(
			setting.hostFunctions,
			(message, what) => this.send(message, what),
		);
		this.targets = {
			calls: this.calls,
			hostFunctions: this.hostFunctions,
			log: (record) => process.log(record),
			crossing: this.crossing,
		};
	}

	/** Takes the channel that this listens to. */
	attach(channel: FrameChannel): void {
		this.channel = channel;
	}

	execute(
		command: string,
		args: unknown,
		options: CallOptions,
	): Promise<unknown> {
		const { promise, resolve, reject } = Promise.withResolvers<unknown>();
		try {
			this.begin(command, args, options, {
				succeeded: resolve,
				failed: reject,
			});
		} catch (error) {
			reject(error);
		}
		return promise;
	}

	stream(
		command: string,
		args: unknown,
		options: CallOptions,
	): AsyncIterableIterator<unknown> {
		const { streamCredit } = this.setting;
		return new ChunkStream(
			streamCredit,
			(stream) => this.begin(command, args, options, stream, streamCredit),
			(call, chunks) =>
				this.send(
					{ $case: "credit", value: { callId: call.number, chunks } },
					"credit",
				),
		);
	}

	async ping(signal: AbortSignal): Promise<PingReply> {
		const { callsRunning } = await this.openChannel().ping(
			++this.lastPing,
			signal,
		);
		return { callsRunning };
	}

	/** What the worker's tools are. */
	describe(signal: AbortSignal): Promise<DescribeResponse> {
		return this.openChannel().describe(signal);
	}

	/** Whether calls can be made. */
	get isOpen(): boolean {
		return this.state.kind === "open";
	}

	endSession(sessionId: string): void {
		this.send(
			{ $case: "sessionEnd", value: { sessionId } },
			"the end of a session",
		);
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

	// The channel tells:

	frame(bytes: Uint8Array): void {
		let message: WorkerMessage;
		try {
			message = decodeFrame(bytes);
		} catch (error) {
			this.break(`a malformed frame of ${bytes.length} bytes arrived`, error);
			return;
		}
		dispatchFrame(message, this.targets);
	}

	over(error: Error | undefined): void {
		if (this.state.kind === "leaving") this.conclude("the worker left");
		else if (error === undefined) this.break("the worker ended it");
		else this.break(error.message, error);
	}

	// Calls and host functions tell:

	send(message: HostMessage, what: string): void {
		const frame = encodeFrame(message);
		const { maxMessageBytes } = this.setting;
		if (frame.length > maxMessageBytes)
			throw messageTooLarge(what, maxMessageBytes, frame.length);
		if (this.state.kind !== "over") this.channel?.send(frame);
	}

	drained(): Promise<void> {
		return this.channel?.drained() ?? Promise.resolve();
	}

	violated(problem: string): void {
		this.break(`the worker sent ${problem}`);
	}

	forget(number: number): void {
		const call = this.calls.get(number);
		if (call === undefined) return;
		this.calls.delete(number);
		this.hostFunctions.callOver(call);
	}

	private begin(
		command: string,
		args: unknown,
		options: CallOptions,
		answers: CallAnswers,
		credit?: StreamCredit,
	): OngoingCall {
		this.openChannel();
		if (options.signal.aborted)
			throw abortedBefore(this.workerId, command, options.signal);
		const number = this.lastCall + 1;
		const memory = this.crossing.call(command);
		this.sendOrClose(
			memory,
			callFrame(
				number,
				command,
				args,
				options,
				this.setting.maxMessageBytes,
				memory,
				credit,
			),
			`The arguments of "${command}"`,
		);
		// No other call can join it, and the worker is idle: it shall not wait for what callers do in this turn, with the answer before.
		if (this.setting.callsAtOnce === 1) this.channel?.flush();
		this.lastCall = number;
		const call = new OngoingCall(
			number,
			command,
			options,
			memory,
			this,
			answers,
		);
		this.calls.set(number, call);
		return call;
	}

	private sendOrClose(
		memory: CallMemory | undefined,
		message: HostMessage,
		what: string,
	): void {
		try {
			this.send(message, what);
		} catch (error) {
			// The worker never heard of it.
			memory?.close(true);
			throw error;
		}
		memory?.sent();
	}

	private openChannel(): FrameChannel {
		if (this.channel !== undefined && this.state.kind === "open")
			return this.channel;
		const problem =
			this.state.kind === "over"
				? this.state.problem
				: "the worker was asked to leave";
		throw conversationBroken(this.workerId, problem, "no");
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
		this.crossing.close();
		for (const call of [...this.calls.values()]) {
			call.lost(conversationBroken(this.workerId, problem, "maybe", cause));
		}
		this.overWith.resolve();
	}
}
