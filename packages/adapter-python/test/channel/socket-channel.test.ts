import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { FrameChannel } from "../../src/channel/frame-channel.ts";
import {
	FRAME,
	MessageCutter,
	SIGNAL,
} from "../../src/channel/message-cutter.ts";
import {
	type Dial,
	openFramedChannel,
} from "../../src/channel/socket-channel.ts";
import type { HostSignal } from "../../src/frames/frame-codec.ts";
import type { WorkerFrame } from "../../src/frames/frames.ts";
import { encodeValue } from "../../src/index.ts";
import { failureOf } from "../support/calls.ts";
import { scratch } from "../support/fake-python.ts";
import { messageHeader } from "../support/message-header.ts";
import { decodeHostSignal } from "../support/worker-frames.ts";

/** Numbers of signals (docs/bridge-protocol.md, section 5). */
const WELCOME = 1;
const BYE = 5;

const never = new AbortController().signal;

/** The worker's end of a connection, which says what a test makes it say. */
interface FakeServer {
	readonly open: (signal?: AbortSignal, how?: Dial) => Promise<FrameChannel>;
	readonly socket: Promise<Socket>;
	readonly heard: (HostSignal | Uint8Array)[];
	readonly over: Promise<Error | undefined>;
	/** What the channel has passed on. */
	readonly frames: WorkerFrame[];
	/** @param signal its number, and its fields. */
	say(...signal: unknown[]): Promise<void>;
	write(kind: number, body: Uint8Array): Promise<void>;
}

async function listen(): Promise<FakeServer> {
	const path = join(scratch(), "s");
	const server = createServer();
	server.listen(path);
	await once(server, "listening");
	const accepted = Promise.withResolvers<Socket>();
	const over = Promise.withResolvers<Error | undefined>();
	const heard: FakeServer["heard"] = [];
	const frames: WorkerFrame[] = [];
	onTestFinished(async () => {
		server.close();
	});
	server.on("connection", (socket) => {
		onTestFinished(() => void socket.destroy());
		const cutter = new MessageCutter(2 ** 20, (kind, bytes, begin, end) => {
			const body = Buffer.from(bytes.subarray(begin, end));
			heard.push(kind === SIGNAL ? decodeHostSignal(body) : body);
		});
		socket.on("data", (chunk) => cutter.take(chunk));
		socket.on("error", () => {});
		accepted.resolve(socket);
	});
	const write = async (kind: number, body: Uint8Array): Promise<void> => {
		const head = messageHeader(kind, body.length);
		(await accepted.promise).write(Buffer.concat([head, body]));
	};
	return {
		socket: accepted.promise,
		heard,
		frames,
		over: over.promise,
		write,
		say: (...signal) => write(SIGNAL, encodeValue(signal)),
		open: (signal = never, how) =>
			openFramedChannel(
				{ socket: path, token: "secret", maxMessageBytes: 1024 },
				{
					frame: (bytes, begin, end, codec) =>
						frames.push(codec.decode(bytes, begin, end)),
					over: over.resolve,
				},
				signal,
				how,
			),
	};
}

async function opened(
	how?: Dial,
): Promise<FakeServer & { channel: FrameChannel }> {
	const server = await listen();
	const opening = server.open(never, how);
	const socket = await server.socket;
	while (server.heard.length === 0) await once(socket, "data");
	await server.say(WELCOME);
	const channel = await opening;
	onTestFinished(() => channel.close());
	return { ...server, channel };
}

test("the token is said first, and the channel is open with the welcome", async () => {
	const { heard } = await opened();
	expect(heard).toEqual([{ kind: "hello", token: "secret" }]);
});

test("a frame that arrives together with the welcome is read, although the channel is not open yet", async () => {
	const server = await listen();
	const opening = server.open();
	const socket = await server.socket;
	while (server.heard.length === 0) await once(socket, "data");
	const parts = [
		[SIGNAL, encodeValue([WELCOME])],
		[FRAME, encodeValue([10, ["/a.py"], 5])],
	] as const;
	socket.write(
		Buffer.concat(
			parts.flatMap(([kind, body]) => [messageHeader(kind, body.length), body]),
		),
	);
	const channel = await opening;
	onTestFinished(() => channel.close());
	expect(server.frames).toEqual([
		{ kind: "sources", files: ["/a.py"], sinceUs: 5 },
	]);
});

test("a worker that does not take the token says why", async () => {
	const server = await listen();
	const opening = failureOf(server.open());
	await server.say(BYE, "UNAUTHENTICATED", "the token is wrong");
	expect(await opening).toMatchObject({
		message: "the worker ended the connection: the token is wrong",
	});
});

test("a worker that accepts and says nothing is waited for until the abort", async () => {
	const server = await listen();
	const abort = new AbortController();
	const opening = failureOf(server.open(abort.signal));
	await server.socket;
	const reason = new Error("too late");
	abort.abort(reason);
	expect(await opening).toBe(reason);
});

test.each([
	{ what: "over the limit", kind: FRAME, length: 2 ** 31, says: /the limit/ },
	{
		what: "of an unknown kind",
		kind: 7,
		length: 0,
		says: /the unknown kind 7/,
	},
])(
	"a message $what ends the channel and rejects a waiting ping",
	async ({ kind, length, says }) => {
		const { channel, over, socket } = await opened();
		const ping = failureOf(channel.ping(1, never));
		(await socket).write(messageHeader(kind, length));
		expect((await over)?.message).toMatch(says);
		expect(await ping).toMatchObject({ message: expect.stringMatching(says) });
		expect(await failureOf(channel.ping(2, never))).toBe(await ping);
	},
);

test("a signal that cannot be decoded ends the channel", async () => {
	const { over, write } = await opened();
	await write(SIGNAL, Uint8Array.of(0xff, 0xff));
	expect(await over).toBeInstanceOf(Error);
});

test("an end without a goodbye is an error, with one it is none", async () => {
	const broken = await opened();
	(await broken.socket).destroy();
	expect((await broken.over)?.message).toMatch(/without a goodbye/);
	const left = await opened();
	await left.say(BYE, "LEFT", "");
	expect(await left.over).toBe(undefined);
});

test("a worker that says goodbye gets a goodbye too, by which TLS distinguishes an end from a break", async () => {
	const dialled = Promise.withResolvers<Socket>();
	const { over, say } = await opened({
		connected: "connect",
		dial: ({ socket: path }, onread) => {
			const socket = connect({ path, onread });
			dialled.resolve(socket);
			return socket;
		},
	});
	const socket = await dialled.promise;
	const finished = once(socket, "finish");
	await say(BYE, "LEFT", "");
	await over;
	await finished;
	if (!socket.closed) await once(socket, "close");
});

test("what is sent in one turn leaves together and in order", async () => {
	const { channel, heard, socket } = await opened();
	let chunks = 0;
	(await socket).on("data", () => chunks++);
	for (let i = 0; i < 100; i++) channel.send(Uint8Array.of(i));
	channel.end();
	const large = new Uint8Array(100_000).fill(7);
	channel.send(large);
	while (heard.length < 103) await once(await socket, "data");
	expect(heard.slice(1, 101)).toEqual(
		Array.from({ length: 100 }, (_, i) => Buffer.of(i)),
	);
	expect(heard[101]).toEqual({ kind: "leave" });
	expect(Buffer.compare(heard[102] as Uint8Array, large)).toBe(0);
	expect(chunks).toBeLessThan(10);
});

test("a worker that does not read is waited for", async () => {
	const { channel, socket } = await opened();
	const peer = await socket;
	peer.pause();
	const part = new Uint8Array(64 * 1024);
	for (let i = 0; i < 100; i++) channel.send(part);
	await new Promise(setImmediate);
	let isDrained = false;
	const drained = channel.drained().then(() => {
		isDrained = true;
	});
	await new Promise(setImmediate);
	expect(isDrained).toBe(false);
	peer.resume();
	await drained;
});
