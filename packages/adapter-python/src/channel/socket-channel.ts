import { once } from "node:events";
import { connect, type OnReadOpts, type Socket } from "node:net";
import { abortable } from "@snakepit/core/adapter";
import {
	decodeSignal,
	encodeSignal,
	type HostSignal,
	MESSAGE_PACK,
	type WorkerSignal,
} from "../frames/frame-codec.ts";
import type { FrameCodec, PingAnswer, ToolRecord } from "../frames/frames.ts";
import {
	type FrameChannel,
	type FrameListener,
	LENT_BYTES,
	PendingPings,
	type SidebandPort,
	type WorkerAddress,
} from "./frame-channel.ts";
import {
	BYTES,
	CLOSED,
	FRAME,
	MessageCutter,
	type MessageListener,
	SHORTENED,
	SIGNAL,
} from "./message-cutter.ts";
import { MessageWriter } from "./message-writer.ts";

/** Room for the fields around a value: the worker measures only the value. */
const RECEIVE_MARGIN_BYTES = 65_536;

/**
 * The buffer that every socket of this thread reads into: its content is delivered in the same turn. A buffer for each
 * read would create much garbage.
 */
let sharedBuffer: Uint8Array | undefined;
/** More bytes would not stay in the processor's cache until they are copied. */
const READ_BYTES = 64 * 1024;

function readBuffer(): Uint8Array {
	sharedBuffer ??= Buffer.allocUnsafeSlow(READ_BYTES);
	return sharedBuffer;
}

/** The functions that settle the answer to a question. */
interface Question<Answer> {
	readonly resolve: (answer: Answer) => void;
	readonly reject: (error: unknown) => void;
}

type ChannelState =
	/** The token is on its way. */
	| { readonly kind: "greeting"; readonly welcome: Question<void> }
	| { readonly kind: "open" }
	| { readonly kind: "over"; readonly error: Error };

/** Begins to connect to a worker. */
export interface Dial {
	/** The event of its socket when it is connected. */
	readonly connected: "connect" | "secureConnect";
	/** @param onread how its socket reads. */
	readonly dial: (address: WorkerAddress, onread: OnReadOpts) => Socket;
	/** Whether a relay answers, which accepts sideband data. */
	readonly isRelayed?: true;
}

/** The private socket of a worker on this machine. */
const LOCAL: Dial = {
	connected: "connect",
	dial: ({ socket: path }, onread) => connect({ path, onread }),
};

/**
 * Connects to a worker whose transport is `framed` and sends the token.
 *
 * @param how to connect, if not to its private socket; for packages that build on this one.
 * @throws Error why the worker cannot be reached or does not take the token; the signal's reason after an abort.
 */
export async function openFramedChannel(
	address: WorkerAddress,
	listener: FrameListener,
	signal: AbortSignal,
	how: Dial = LOCAL,
): Promise<FrameChannel> {
	signal.throwIfAborted();
	const channel = new FramedChannel(address, listener, how);
	await channel.open(how.connected, address.token, signal);
	return channel;
}

class FramedChannel implements FrameChannel {
	private readonly socket: Socket;
	private readonly listener: FrameListener;
	private readonly writer: MessageWriter;
	private readonly cutter: MessageCutter;
	private readonly pings = new PendingPings();
	/** Answered in order. */
	private readonly descriptions: Question<readonly ToolRecord[]>[] = [];
	private state: ChannelState;
	private readonly welcomed: Promise<void>;

	readonly codec: FrameCodec = MESSAGE_PACK;
	readonly sideband: SidebandPort | undefined;

	constructor(address: WorkerAddress, listener: FrameListener, how: Dial) {
		this.listener = listener;
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		this.welcomed = promise;
		this.state = { kind: "greeting", welcome: { resolve, reject } };
		this.cutter = new MessageCutter(
			address.maxMessageBytes + RECEIVE_MARGIN_BYTES,
			this.received,
			how.isRelayed ? BYTES : SIGNAL,
		);
		this.socket = how.dial(address, {
			buffer: readBuffer(),
			callback: this.arrived,
		});
		// Only the pool keeps the program running, while calls run.
		this.socket.unref();
		this.writer = new MessageWriter(this.socket);
		this.sideband = how.isRelayed && this.sidebandPort();
	}

	/** Connects, and sends the token. @throws Error, as {@link openFramedChannel}. */
	async open(
		connected: Dial["connected"],
		token: string,
		signal: AbortSignal,
	): Promise<void> {
		const { socket } = this;
		try {
			await once(socket, connected, { signal });
			socket.on("error", (error) => this.conclude(error));
			socket.on("close", () =>
				this.conclude(new Error("the connection ended without a goodbye")),
			);
			this.say({ kind: "hello", token });
			await abortable(this.welcomed, signal);
		} catch (error) {
			socket.destroy();
			throw signal.aborted ? signal.reason : error;
		}
	}

	/** The socket has read bytes, which are overwritten afterwards. */
	private readonly arrived = (size: number, bytes: Uint8Array): true => {
		try {
			if (this.state.kind !== "over") this.cutter.take(bytes, size);
		} catch (error) {
			this.conclude(error as Error);
		}
		return true;
	};

	send(frame: Uint8Array, when?: "now"): void {
		if (this.state.kind === "open") this.writer.write(FRAME, frame, when);
	}

	drained(): Promise<void> {
		const { socket } = this;
		if (!socket.writableNeedDrain) return Promise.resolve();
		return new Promise((resolve) => {
			const done = (): void => {
				socket.off("drain", done).off("close", done);
				resolve();
			};
			socket.on("drain", done).on("close", done);
		});
	}

	end(): void {
		this.say({ kind: "leave" });
	}

	close(): void {
		this.conclude(new Error("the channel was closed"), () => {});
	}

	ping(sequence: number, signal: AbortSignal): Promise<PingAnswer> {
		if (this.state.kind === "over") return Promise.reject(this.state.error);
		return this.pings.ask(sequence, signal, () =>
			this.say({ kind: "ping", sequence }),
		);
	}

	describe(signal: AbortSignal): Promise<readonly ToolRecord[]> {
		const { promise, resolve, reject } =
			Promise.withResolvers<readonly ToolRecord[]>();
		const { state } = this;
		if (state.kind === "over") reject(state.error);
		else {
			this.descriptions.push({ resolve, reject });
			this.say({ kind: "describe" });
		}
		return abortable(promise, signal);
	}

	private say(signal: HostSignal): void {
		if (this.state.kind !== "over")
			this.writer.write(SIGNAL, encodeSignal(signal));
	}

	private sidebandPort(): SidebandPort {
		const write = (
			kind: number,
			name: string,
			size: number,
			parts: readonly Uint8Array[] = [],
		): void => {
			if (this.state.kind !== "open") return;
			const head = sidebandHead({ name, offset: 0, size });
			if (parts.length === 0) this.writer.write(kind, head);
			else this.writer.writeParts(kind, head, parts, size);
		};
		return {
			send: (name, parts, size) => write(BYTES, name, size, parts),
			shortened: (name, bytes) => write(SHORTENED, name, bytes),
			closed: (name) => write(CLOSED, name, 0),
		};
	}

	private readonly received: MessageListener = (kind, bytes, begin, end) => {
		if (kind === BYTES) {
			const { part, bytes: content } = readSideband(bytes, begin, end);
			this.listener.sideband?.(part.name, part.offset, content);
		} else if (kind !== FRAME) this.signalled(decodeSignal(bytes, begin, end));
		else if (this.state.kind === "greeting")
			throw new Error("a frame arrived before the worker took the token");
		// The listener is not called after the end.
		else if (this.state.kind === "open")
			this.listener.frame(bytes, begin, end, MESSAGE_PACK);
	};

	private signalled(signal: WorkerSignal | undefined): void {
		switch (signal?.kind) {
			case "welcome":
				if (this.state.kind !== "greeting") break;
				this.state.welcome.resolve();
				this.state = { kind: "open" };
				break;
			case "ping":
				this.pings.answered(signal.answer);
				break;
			case "described":
				this.descriptions.shift()?.resolve(signal.tools);
				break;
			case "bye":
				this.bye(signal);
				break;
			default:
				// From a later version of the protocol; this side has sent no such question.
				break;
		}
	}

	private bye({
		reason,
		message,
	}: {
		readonly reason: string;
		readonly message: string;
	}): void {
		if (reason === "LEFT")
			this.conclude(
				new Error("the worker left"),
				() => this.listener.over(undefined),
				// TLS reports a connection that ends without one as broken.
				"with a goodbye",
			);
		else
			this.conclude(new Error(`the worker ended the connection: ${message}`));
	}

	/** Ends the channel once. @param reason rejects the questions that wait for an answer. @param report called if the channel was open. */
	private conclude(
		reason: Error,
		report: () => void = () => this.listener.over(reason),
		how?: "with a goodbye",
	): void {
		const { state } = this;
		if (state.kind === "over") return;
		this.state = { kind: "over", error: reason };
		if (how === "with a goodbye") this.socket.destroySoon();
		else this.socket.destroy();
		if (state.kind === "greeting") state.welcome.reject(reason);
		this.pings.fail(reason);
		for (const { reject } of this.descriptions) reject(reason);
		this.descriptions.length = 0;
		if (state.kind === "open") report();
	}
}

/** Sideband data has a name, an offset and a size before its bytes. */
const SIDEBAND_HEAD_BYTES = 64;
const OFFSET_AT = 24;
const SIZE_AT = 32;

/** A part of a file of the worker's attachments. */
interface SegmentPart {
	readonly name: string;
	readonly offset: number;
	readonly size: number;
}

/** 64 bytes long, so that the following bytes are aligned for numbers of every size. */
export function sidebandHead({ name, offset, size }: SegmentPart): Buffer {
	const head = Buffer.alloc(SIDEBAND_HEAD_BYTES);
	head.write(name, "latin1");
	head.writeBigUInt64BE(BigInt(offset), OFFSET_AT);
	head.writeBigUInt64BE(BigInt(size), SIZE_AT);
	return head;
}

/** Reads a sideband message, from `begin` to `end`. @throws Error if it is not one. */
export function readSideband(
	message: Uint8Array,
	begin: number,
	end: number,
): { readonly part: SegmentPart; readonly bytes: Uint8Array } {
	if (end - begin < SIDEBAND_HEAD_BYTES)
		throw new Error(
			`${end - begin} bytes of sideband data, too few to name their file`,
		);
	const view = Buffer.from(message.buffer, message.byteOffset, end);
	const name = view.toString("latin1", begin, begin + OFFSET_AT);
	const bytes = message.subarray(begin + SIDEBAND_HEAD_BYTES, end);
	return {
		part: {
			name: name.replace(/\0+$/, ""),
			offset: Number(view.readBigUInt64BE(begin + OFFSET_AT)),
			size: Number(view.readBigUInt64BE(begin + SIZE_AT)),
		},
		bytes: end - begin > LENT_BYTES ? bytes : new Uint8Array(bytes),
	};
}
