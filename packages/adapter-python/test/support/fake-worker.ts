import type { WorkerLogRecord } from "@snakepit/core/adapter";
import {
	type FrameChannel,
	LENT_BYTES,
} from "../../src/channel/frame-channel.ts";
import {
	Conversation,
	type ConversationProcess,
} from "../../src/conversation/conversation.ts";
import type { HostFunction } from "../../src/conversation/host-functions.ts";
import { MESSAGE_PACK } from "../../src/frames/frame-codec.ts";
import type {
	EndFrame,
	FailureFrame,
	FrameCodec,
	HostFrame,
	PingAnswer,
	ToolRecord,
	WorkerFrame,
} from "../../src/frames/frames.ts";
import { encodeValue } from "../../src/index.ts";
import type {
	BegunMarks,
	CallPage,
} from "../../src/shared-memory/call-page.ts";
import type { SharedMemory } from "../../src/shared-memory/shared-memory.ts";
import {
	decodeHostFrame,
	encodeWorkerFrame,
	failureFrame,
} from "./worker-frames.ts";

/** A worker that says what a test makes it say, at the other end of a channel in memory. */
export class FakeWorker implements FrameChannel {
	readonly codec: FrameCodec = MESSAGE_PACK;
	readonly conversation: Conversation;
	/** What the host said, in order. */
	readonly heard: HostFrame[] = [];
	/** The same as it was sent. */
	readonly frames: Uint8Array[] = [];
	readonly logs: WorkerLogRecord[] = [];
	readonly brokenBy: Error[] = [];
	closed = false;
	ended = false;
	/** How many of the messages were asked to leave now. */
	flushed = 0;

	constructor(
		setting: {
			readonly callsAtOnce?: number;
			readonly streamCredit?: number;
			readonly smallBytes?: number;
			readonly hostFunctions?: Readonly<Record<string, HostFunction>>;
			readonly sharedMemory?: SharedMemory;
			readonly callPage?: CallPage;
			readonly begunMarks?: BegunMarks;
		} = {},
	) {
		const process: ConversationProcess = {
			slot: { workerId: "fake-0" },
			log: (record) => this.logs.push(record),
			broken: (error) => this.brokenBy.push(error),
		};
		this.conversation = new Conversation(process, {
			callsAtOnce: setting.callsAtOnce ?? 4,
			maxMessageBytes: 1024 * 1024,
			streamCredit: {
				chunks: setting.streamCredit ?? 4,
				smallBytes: setting.smallBytes ?? 0,
			},
			hostFunctions: new Map(Object.entries(setting.hostFunctions ?? {})),
			sharedMemory: setting.sharedMemory,
			callPage: setting.callPage,
			begunMarks: setting.begunMarks,
		});
		this.conversation.attach(this);
	}

	/** The frames of one kind that the host sent, without their kind. */
	all<Kind extends HostFrame["kind"]>(
		kind: Kind,
	): readonly Omit<Extract<HostFrame, { readonly kind: Kind }>, "kind">[] {
		return this.heard
			.filter((frame) => frame.kind === kind)
			.map(({ kind: _, ...fields }) => fields) as never;
	}

	say(frame: WorkerFrame): void {
		this.frame(encodeWorkerFrame(frame));
	}

	/** A frame arrives in bytes that are written over afterwards. */
	frame(frame: Uint8Array): void {
		const bytes = Buffer.concat([Buffer.alloc(3), frame, Buffer.alloc(2)]);
		this.conversation.frame(bytes, 3, 3 + frame.length, this.codec);
		if (frame.length <= LENT_BYTES) bytes.fill(0xff);
	}

	result(callId: number, value: unknown): void {
		this.say({
			kind: "result",
			callId,
			beganUs: undefined,
			ranUs: undefined,
			value: encodeValue(value),
			attachment: undefined,
			argumentsFree: false,
		});
	}

	chunk(callId: number, value: unknown): void {
		this.say({
			kind: "chunk",
			callId,
			value: encodeValue(value),
			attachment: undefined,
		});
	}

	end(callId?: number): void {
		if (callId === undefined) this.ended = true;
		else this.say(endOf(callId));
	}

	fail(
		callId: number,
		code: FailureFrame["code"] = "TOOL_FAILED",
		more: Partial<FailureFrame> = {},
	): void {
		this.say(failureFrame(callId, { code, ...more }));
	}

	/** The channel tells that it is over. */
	hangUp(error?: Error): void {
		this.conversation.over(error);
	}

	// What the conversation uses:

	send(frame: Uint8Array, when?: "now"): void {
		const sent = Buffer.from(frame);
		this.frames.push(sent);
		this.heard.push(decodeHostFrame(sent));
		if (when === "now") this.flushed = this.heard.length;
		// It was lent.
		if (frame.length <= LENT_BYTES) frame.fill(0xff);
	}

	drained(): Promise<void> {
		return Promise.resolve();
	}

	close(): void {
		this.closed = true;
	}

	async ping(sequence: number): Promise<PingAnswer> {
		return { sequence, callsRunning: 0 };
	}

	async describe(): Promise<readonly ToolRecord[]> {
		return [];
	}
}

/** The end of a stream that returned nothing. */
export function endOf(callId: number, more: Partial<EndFrame> = {}): EndFrame {
	return {
		kind: "end",
		callId,
		value: new Uint8Array(),
		attachment: undefined,
		argumentsFree: false,
		...more,
	};
}
