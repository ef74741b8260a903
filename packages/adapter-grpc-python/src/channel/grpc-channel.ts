import {
	Client,
	type ClientDuplexStream,
	type ClientOptions,
	Metadata,
	type ServiceError,
} from "@grpc/grpc-js";
import {
	type FrameChannel,
	type FrameCodec,
	type FrameListener,
	LENT_BYTES,
	PendingPings,
	type PingAnswer,
	type ToolRecord,
	type WorkerAddress,
} from "@snakepit/adapter-python/transport";
import {
	DescribeRequest,
	DescribeResponse,
	HostFrame,
	type MessageFns,
	PingRequest,
	PingResponse,
	WorkerFrame,
} from "../gen/bridge.ts";
import { BATCH_TAG, cutBatch, FrameBatch } from "./frame-batch.ts";
import { encodeMessage, PROTOBUF, toolOf } from "./proto-frames.ts";
import { UnreferencedCredentials } from "./unreferenced-credentials.ts";

/** The field `ping` of a worker's frame: number and kind, as protobuf writes them. */
const PING_TAG = 0x4a;
const SERVICE = "/snakepit.bridge.v1.Bridge";
/** Room for the fields around a value: the worker measures only the value. */
const RECEIVE_MARGIN_BYTES = 65_536;
/** With HTTP/2's default of 64 KiB, a large result would wait for many round trips. */
const FLOW_CONTROL_WINDOW_BYTES = 8 * 1024 * 1024;

/**
 * Connects to a worker by gRPC and opens its one conversation.
 *
 * @throws Error that of gRPC when the worker cannot be reached or does not take the token; the signal's reason after an abort.
 */
export async function openGrpcChannel(
	address: WorkerAddress,
	listener: FrameListener,
	signal: AbortSignal,
): Promise<FrameChannel> {
	const channel = new GrpcChannel(address);
	try {
		await channel.prove(signal);
	} catch (error) {
		channel.close();
		throw error;
	}
	channel.converse(listener);
	return channel;
}

class GrpcChannel implements FrameChannel {
	readonly codec: FrameCodec = PROTOBUF;
	private readonly client: Client;
	private readonly metadata = new Metadata();
	private readonly pings = new PendingPings();
	private readonly batch: FrameBatch;
	private stream: ClientDuplexStream<Uint8Array, Uint8Array> | undefined;

	constructor(address: WorkerAddress) {
		this.metadata.set("snakepit-token", address.token);
		this.client = new Client(
			`unix:${address.socket}`,
			new UnreferencedCredentials(),
			channelOptions(address),
		);
		this.batch = new FrameBatch(address.maxMessageBytes, (message) => {
			if (this.stream?.writable) this.stream.write(message);
		});
	}

	converse(listener: FrameListener): void {
		const stream = this.client.makeBidiStreamRequest(
			`${SERVICE}/Converse`,
			asBuffer,
			(bytes: Buffer): Uint8Array => bytes,
			this.metadata,
		);
		this.stream = stream;
		let over = false;
		const end = (error: Error | undefined): void => {
			if (over) return;
			over = true;
			this.pings.fail(error ?? new Error("the worker ended the conversation"));
			// The listener is not called after a close.
			if (this.stream === stream) listener.over(error);
		};
		const deliver = (frame: Uint8Array): void => {
			if (frame[0] === PING_TAG) this.pinged(frame);
			else if (this.stream === stream)
				listener.frame(frame, 0, frame.length, PROTOBUF);
		};
		stream.on("data", (message: Uint8Array) => {
			try {
				if (message[0] === BATCH_TAG) cutBatch(message, deliver);
				else deliver(message);
			} catch (error) {
				end(error as Error);
			}
		});
		stream.on("error", end);
		stream.on("end", () => end(undefined));
	}

	/** It is sent at the end of the turn: Node's HTTP/2 does not write earlier. */
	send(frame: Uint8Array): void {
		this.batch.add(frame.length > LENT_BYTES ? frame : Buffer.from(frame));
	}

	drained(): Promise<void> {
		const { stream } = this;
		if (!stream?.writableNeedDrain) return Promise.resolve();
		return new Promise((resolve) => {
			const done = (): void => {
				stream.off("drain", done).off("close", done).off("error", done);
				resolve();
			};
			stream.on("drain", done).on("close", done).on("error", done);
		});
	}

	end(): void {
		this.batch.flush();
		this.stream?.end();
	}

	close(): void {
		const { stream } = this;
		this.stream = undefined;
		stream?.cancel();
		this.client.close();
		this.pings.fail(new Error("the channel was closed"));
	}

	/** The first answer proves socket, token and service; nothing else is sent before it. */
	async prove(signal: AbortSignal): Promise<void> {
		await this.askToPing(0, signal);
	}

	ping(sequence: number, signal: AbortSignal): Promise<PingAnswer> {
		// It must not wait behind frames that a busy worker has not read yet.
		if (!this.stream?.writable || this.stream.writableNeedDrain)
			return this.askToPing(sequence, signal);
		return this.pings.ask(sequence, signal, () =>
			this.send(
				encodeMessage(HostFrame, {
					frame: { $case: "ping", value: { sequence } },
				}),
			),
		);
	}

	private pinged(frame: Uint8Array): void {
		const message = WorkerFrame.decode(frame).frame;
		if (message?.$case === "ping") this.pings.answered(message.value);
	}

	private askToPing(
		sequence: number,
		signal: AbortSignal,
	): Promise<PingResponse> {
		return this.ask("Ping", PingRequest, { sequence }, PingResponse, signal);
	}

	async describe(signal: AbortSignal): Promise<readonly ToolRecord[]> {
		const { tools } = await this.ask(
			"Describe",
			DescribeRequest,
			{},
			DescribeResponse,
			signal,
		);
		return tools.map(toolOf);
	}

	private ask<Question, Answer>(
		method: string,
		question: MessageFns<Question>,
		value: Question,
		answer: MessageFns<Answer>,
		signal: AbortSignal,
	): Promise<Answer> {
		return new Promise((resolve, reject) => {
			signal.throwIfAborted();
			const abort = (): void => call.cancel();
			const call = this.client.makeUnaryRequest(
				`${SERVICE}/${method}`,
				(message: Question) => asBuffer(question.encode(message).finish()),
				(bytes: Buffer) => answer.decode(bytes),
				value,
				this.metadata,
				(error: ServiceError | null, reply?: Answer) => {
					signal.removeEventListener("abort", abort);
					if (signal.aborted) reject(signal.reason);
					else if (error !== null) reject(error);
					else resolve(reply as Answer);
				},
			);
			signal.addEventListener("abort", abort);
		});
	}
}

function channelOptions(address: WorkerAddress): ClientOptions {
	return {
		"grpc.max_send_message_length": address.maxMessageBytes,
		"grpc.max_receive_message_length":
			address.maxMessageBytes + RECEIVE_MARGIN_BYTES,
		"grpc-node.flow_control_window": FLOW_CONTROL_WINDOW_BYTES,
		// Each worker has its own channel, even if a path is used again.
		"grpc.use_local_subchannel_pool": 1,
		"grpc.enable_channelz": 0,
		// The pool decides about retries.
		"grpc.enable_retries": 0,
		"grpc.service_config_disable_resolution": 1,
		"grpc.enable_http_proxy": 0,
	};
}

/** The same bytes as a Buffer, which grpc-js writes. */
function asBuffer(bytes: Uint8Array): Buffer {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
