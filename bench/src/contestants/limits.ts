import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { temporaryDirectory } from "../measure.ts";
import {
	byTurns,
	type Contestant,
	end,
	type Line,
	type LineSetting,
	numbers,
	startPython,
} from "./contestant.ts";

/** Carries bytes within this process alone. @param over one way. */
function withinThisProcess(
	over: (bytes: Uint8Array) => Uint8Array,
	close: () => void = () => {},
): Line {
	return {
		pids: [],
		echoBytes: async (bytes) => over(over(bytes)),
		takeBytes: async (bytes) => over(bytes).length,
		[Symbol.asyncDispose]: async () => close(),
	};
}

/** The limit of everything: each way is one copy within this process. */
export const memcpy: Contestant = {
	name: "limit, memcpy",
	open: async () =>
		withinThisProcess((bytes) => {
			const to = Buffer.allocUnsafeSlow(bytes.length);
			to.set(bytes);
			return to;
		}),
};

/** The limit of shared memory as files: each way is one write and one read, by this process alone. */
export const sharedMemoryFile: Contestant = {
	name: "limit, write and read of /dev/shm",
	needs: { linux: true },
	open: async () => {
		const path = join("/dev/shm", `snakepit-bench-${process.pid}`);
		const over = (bytes: Uint8Array): Uint8Array => {
			writeFileSync(path, bytes, { mode: 0o600 });
			return readFileSync(path);
		};
		return withinThisProcess(over, () => rmSync(path, { force: true }));
	},
};

const HEADER_BYTES = 5;
const [ECHO, TAKE, GIVE, STREAM] = [0, 1, 2, 3];

/** The limit: frames of bytes over a Unix socket between Node and a bare loop in Python. No codec, no queue, no pool. */
export const framedSocket: Contestant = {
	name: "limit, framed Unix socket",
	open: openFramedSocket,
};

/** Opens it; `modules` are imported by the loops before they connect. */
export async function openFramedSocket(
	{ python, workers }: Pick<LineSetting, "python" | "workers">,
	modules: readonly string[] = [],
): Promise<Line> {
	const path = join(temporaryDirectory(), "loop");
	const server = createServer();
	server.listen(path);
	await once(server, "listening");
	const children: ChildProcess[] = [];
	const peers: FramedPeer[] = [];
	const allConnected = new Promise<void>((resolve) => {
		server.on("connection", (socket) => {
			const peer = new FramedPeer(socket);
			// The loop says first that it is there.
			void peer.nextFrame().then(() => {
				peers.push(peer);
				if (peers.length === workers) resolve();
			});
		});
	});
	for (let i = 0; i < workers; i++)
		children.push(startPython(python, "echo_loop.py", [path, ...modules]));
	await allConnected;
	return lineTo(peers, children, server);
}

function lineTo(
	peers: readonly FramedPeer[],
	children: readonly ChildProcess[],
	server: Server,
): Line {
	const next = byTurns(peers);
	return {
		pids: children.flatMap(({ pid }) => pid ?? []),
		echo: async (text) =>
			(await next().ask(ECHO, Buffer.from(text))).toString(),
		echoBytes: (bytes) => next().ask(ECHO, bytes),
		takeBytes: async (bytes) => (await next().ask(TAKE, bytes)).readUInt32LE(),
		giveBytes: (size) => next().ask(GIVE, numbers(size)),
		stream: (items, size) => next().askForMany(STREAM, items, size),
		[Symbol.asyncDispose]: async () => {
			for (const peer of peers) peer.close();
			server.close();
			await Promise.all(children.map(end));
		},
	};
}

/** One connection; answers come in the order of the questions. */
class FramedPeer {
	readonly #socket: Socket;
	readonly #wanted: ((frame: Buffer) => void)[] = [];
	readonly #unread: Buffer[] = [];
	#kept: Buffer = Buffer.alloc(0);
	/** A frame that is larger than what arrives at once, and how much of it is there. */
	#large: { readonly body: Buffer; filled: number } | undefined;

	constructor(socket: Socket) {
		this.#socket = socket;
		socket.on("data", (data: Buffer) => this.#read(data));
		socket.on("error", () => socket.destroy());
	}

	ask(kind: number, body: Uint8Array): Promise<Buffer> {
		const header = Buffer.allocUnsafe(HEADER_BYTES);
		header.writeUInt32LE(body.length);
		header.writeUInt8(kind, 4);
		if (body.length > 16_384) {
			this.#socket.write(header);
			this.#socket.write(body);
		} else this.#socket.write(Buffer.concat([header, body]));
		return this.nextFrame();
	}

	async *askForMany(
		kind: number,
		items: number,
		size: number,
	): AsyncGenerator<Buffer> {
		let next = this.ask(kind, numbers(items, size));
		for (let left = items; left > 0; left--) {
			const item = await next;
			if (left > 1) next = this.nextFrame();
			yield item;
		}
	}

	nextFrame(): Promise<Buffer> {
		const frame = this.#unread.shift();
		if (frame !== undefined) return Promise.resolve(frame);
		return new Promise((resolve) => this.#wanted.push(resolve));
	}

	close(): void {
		this.#socket.destroy();
	}

	#read(data: Buffer): void {
		let rest = this.#fillLarge(data);
		if (rest.length === 0) return;
		if (this.#kept.length > 0) rest = Buffer.concat([this.#kept, rest]);
		let at = 0;
		while (rest.length - at >= HEADER_BYTES) {
			const length = rest.readUInt32LE(at);
			const begin = at + HEADER_BYTES;
			if (rest.length - begin < length) {
				if (length < 65_536) break;
				const body = Buffer.allocUnsafe(length);
				this.#large = { body, filled: rest.copy(body, 0, begin) };
				at = rest.length;
				break;
			}
			at = begin + length;
			this.#deliver(rest.subarray(begin, at));
		}
		this.#kept = rest.subarray(at);
	}

	/** Returns what did not belong to it. */
	#fillLarge(data: Buffer): Buffer {
		const large = this.#large;
		if (large === undefined) return data;
		const taken = data.copy(large.body, large.filled);
		large.filled += taken;
		if (large.filled < large.body.length) return data.subarray(taken);
		this.#large = undefined;
		this.#deliver(large.body);
		return data.subarray(taken);
	}

	#deliver(frame: Buffer): void {
		const wanted = this.#wanted.shift();
		if (wanted === undefined) this.#unread.push(frame);
		else wanted(frame);
	}
}
