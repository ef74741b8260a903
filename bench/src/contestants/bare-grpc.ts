import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { Client, credentials } from "@grpc/grpc-js";
import { temporaryDirectory } from "../measure.ts";
import {
	byTurns,
	type Contestant,
	end,
	firstLine,
	type Line,
	type LineSetting,
	numbers,
	startPython,
} from "./contestant.ts";

/** How the server in Python runs its functions. */
export type BareManner = "threads" | "asyncio";

/** The bare way: grpc-js calls grpcio, one unary call each, bytes and no codec, no pool. */
export function bareGrpc(manner: BareManner = "threads"): Contestant {
	return {
		name: bareName(manner),
		open: (setting) => openBareGrpc(setting, manner),
	};
}

export function bareName(manner: BareManner = "threads"): string {
	return manner === "threads"
		? "bare gRPC, unary"
		: "bare gRPC, unary, asyncio";
}

/** Opens it; `modules` are imported by the servers before they listen. */
export async function openBareGrpc(
	{ python, workers }: Pick<LineSetting, "python" | "workers">,
	manner: BareManner,
	modules: readonly string[] = [],
): Promise<Line> {
	const directory = temporaryDirectory();
	const children: ChildProcess[] = [];
	const clients: Client[] = [];
	await Promise.all(
		Array.from({ length: workers }, async (_, index) => {
			const path = join(directory, `server-${index}`);
			const child = startPython(python, "bare_grpc.py", [
				path,
				manner,
				...modules,
			]);
			children.push(child);
			await firstLine(child);
			const client = connectTo(path);
			clients.push(client);
			await unary(client, "Echo", Buffer.alloc(1));
		}),
	);
	return lineTo(clients, children, manner);
}

function connectTo(path: string): Client {
	return new Client(`unix:${path}`, credentials.createInsecure(), {
		"grpc.max_receive_message_length": -1,
		"grpc.max_send_message_length": -1,
		"grpc.use_local_subchannel_pool": 1,
	});
}

function lineTo(
	clients: readonly Client[],
	children: readonly ChildProcess[],
	manner: BareManner,
): Line {
	const next = byTurns(clients);
	const ask = (method: string, request: Uint8Array): Promise<Buffer> =>
		unary(next(), method, request);
	const echoOnly: Line = {
		pids: children.flatMap(({ pid }) => pid ?? []),
		echo: async (text) => (await ask("Echo", Buffer.from(text))).toString(),
		[Symbol.asyncDispose]: async () => {
			for (const client of clients) client.close();
			await Promise.all(children.map(end));
		},
	};
	if (manner === "asyncio") return echoOnly;
	return {
		...echoOnly,
		echoBytes: (bytes) => ask("Echo", bytes),
		takeBytes: async (bytes) => (await ask("Take", bytes)).readUInt32LE(),
		giveBytes: (size) => ask("Give", numbers(size)),
		echoArray: async (array) => {
			const bytes = await ask("EchoArray", asBuffer(array));
			const aligned = bytes.byteOffset % 8 === 0 ? bytes : Buffer.from(bytes);
			return new Float64Array(aligned.buffer, aligned.byteOffset, array.length);
		},
		produced: async () =>
			(await ask("Produced", Buffer.alloc(0))).readUInt32LE(),
		stream: (items, size) =>
			next().makeServerStreamRequest(
				"/bench.Bench/Stream",
				asBuffer,
				(bytes: Buffer) => bytes,
				numbers(items, size),
			),
	};
}

function unary(
	client: Client,
	method: string,
	request: Uint8Array,
): Promise<Buffer> {
	return new Promise((resolve, reject) => {
		client.makeUnaryRequest(
			`/bench.Bench/${method}`,
			asBuffer,
			(bytes: Buffer) => bytes,
			request,
			(error, answer) =>
				error === null && answer !== undefined
					? resolve(answer)
					: reject(error ?? new Error("an empty answer")),
		);
	});
}

function asBuffer(bytes: ArrayBufferView): Buffer {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
