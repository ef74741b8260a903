import type { WorkerLogRecord } from "@snakepit/core/adapter";
import {
	type FrameChannel,
	LENT_BYTES,
} from "../../src/channel/frame-channel.ts";
import {
	Conversation,
	type ConversationProcess,
} from "../../src/conversation/conversation.ts";
import type {
	HostMessage,
	WorkerMessage,
} from "../../src/conversation/frame-codec.ts";
import type { HostFunction } from "../../src/conversation/host-functions.ts";
import {
	Call,
	type DescribeResponse,
	End,
	Failure,
	FailureKind,
	HostFrame,
	type PingResponse,
	WorkerFrame,
} from "../../src/gen/bridge.ts";
import { encodeValue } from "../../src/index.ts";
import type { BegunMarks } from "../../src/shared-memory/begun-marks.ts";
import type { CallPage } from "../../src/shared-memory/call-page.ts";
import type { SharedMemory } from "../../src/shared-memory/shared-memory.ts";

/** A worker that says what a test makes it say, at the other end of a channel in memory. */
export class FakeWorker implements FrameChannel {
	readonly conversation: Conversation;
	/** What the host said, in order. */
	readonly heard: HostMessage[] = [];
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

	/** The frames of one kind that the host sent. */
	all<Case extends HostMessage["$case"]>(
		kind: Case,
	): readonly Extract<HostMessage, { readonly $case: Case }>["value"][] {
		return this.heard
			.filter((message) => message.$case === kind)
			.map((message) => message.value) as never;
	}

	say(message: WorkerMessage): void {
		this.frame(WorkerFrame.encode({ frame: message }).finish());
	}

	/** A frame arrives in bytes that are written over afterwards. */
	frame(frame: Uint8Array): void {
		const bytes = Buffer.concat([Buffer.alloc(3), frame, Buffer.alloc(2)]);
		this.conversation.frame(bytes, 3, 3 + frame.length);
		if (frame.length <= LENT_BYTES) bytes.fill(0xff);
	}

	result(callId: number, value: unknown): void {
		this.say({
			$case: "result",
			value: {
				callId,
				value: encodeValue(value),
				attachment: undefined,
				argumentsFree: false,
			},
		});
	}

	chunk(callId: number, value: unknown): void {
		this.say({
			$case: "chunk",
			value: { callId, value: encodeValue(value), attachment: undefined },
		});
	}

	end(callId?: number): void {
		if (callId === undefined) this.ended = true;
		else this.say({ $case: "end", value: endOf(callId) });
	}

	fail(
		callId: number,
		kind: FailureKind = FailureKind.FAILURE_KIND_TOOL_FAILED,
		more: Partial<Failure> = {},
	): void {
		const value = {
			...Failure.decode(new Uint8Array()),
			callId,
			kind,
			...more,
		};
		this.say({ $case: "failure", value });
	}

	/** The channel tells that it is over. */
	hangUp(error?: Error): void {
		this.conversation.over(error);
	}

	// What the conversation uses:

	send(frame: Uint8Array, when?: "now"): void {
		const sent = Buffer.from(frame);
		this.frames.push(sent);
		const message =
			sent[0] === 0 ? compactCall(sent) : HostFrame.decode(sent).frame;
		if (message !== undefined) this.heard.push(message as HostMessage);
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

	async ping(sequence: number): Promise<PingResponse> {
		return { sequence, callsRunning: 0, cpuTimeUs: 0 };
	}

	async describe(): Promise<DescribeResponse> {
		return { tools: [], bridgeVersion: "", pythonVersion: "" };
	}
}

/** A compact call as what it stands for. */
function compactCall(frame: Uint8Array): HostMessage {
	const bytes = Buffer.from(frame);
	const fields = bytes.readUInt8(6);
	let at = 7;
	const text = (length: number): string => {
		at += length;
		return bytes.toString("ascii", at - length, at);
	};
	const value = {
		...Call.decode(new Uint8Array()),
		callId: bytes.readUInt32BE(1),
		tool: text(bytes.readUInt8(5)),
	};
	if (fields & 1) {
		value.timeoutMs = bytes.readUInt32BE(at);
		at += 4;
	}
	if (fields & 2) value.sessionId = text(bytes.readUInt8(at++));
	if (fields & 4)
		value.traceContext = { traceparent: text(bytes.readUInt8(at++)) };
	return { $case: "call", value: { ...value, arguments: bytes.subarray(at) } };
}

/** The end of a stream that returned nothing. */
export function endOf(callId: number, more: Partial<End> = {}): End {
	return { ...End.decode(new Uint8Array()), callId, ...more };
}
