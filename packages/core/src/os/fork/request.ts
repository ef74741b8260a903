import { constants } from "node:os";
import type { ProcessExit } from "../../contract/identity.ts";

/** What a process that forks takes; arguments and environment of one program have at most about 6 MiB on Linux. */
export const MAX_REQUEST_BYTES: number = 16 * 1024 * 1024;

/** What a process that forks can be asked. */
export type Request =
	| ({ readonly type: "start"; readonly id: number } & Start)
	/** `go`: it is recorded, let it run. `discard`: kill it and do not report it. `reap`: its end was recorded, free its pid. */
	| { readonly type: "go" | "discard" | "reap"; readonly id: number }
	/** Kill what is left, and exit. */
	| { readonly type: "end" };

/** A held worker with these descriptors. No text contains a NUL. */
interface Start {
	/** Names the worker in what a guard records; empty for none. */
	readonly label: string;
	readonly executable: string;
	readonly args: readonly string[];
	/** NAME=VALUE, the name not empty. */
	readonly variables: readonly string[];
	readonly cwd: string;
	/** Those that are connections, from 0 to 7. */
	readonly descriptors: readonly number[];
}

const KINDS = { start: 1, go: 2, discard: 3, reap: 4, end: 5 } as const;
/** Kind, id, descriptors, and the numbers of arguments and variables. */
const START_BYTES = 1 + 4 + 1 + 4 + 4;

/**
 * Writes a request as a frame: four bytes of length, then that many bytes. It is simple enough for C to parse it
 * safely: the kind, the id, and with a start the bits of its descriptors, two counts, and strings that end with a NUL.
 *
 * @returns `undefined` when it is longer than is taken.
 */
export function encodeRequest(request: Request): Buffer | undefined {
	const kind = KINDS[request.type];
	if (request.type === "end") return frame(Buffer.from([kind]));
	if (request.type !== "start") {
		const body = Buffer.alloc(5, kind);
		body.writeUInt32BE(request.id, 1);
		return frame(body);
	}
	const { label, executable, cwd, args, variables, descriptors } = request;
	const head = Buffer.alloc(START_BYTES, kind);
	head.writeUInt32BE(request.id, 1);
	head.writeUInt8(bits(descriptors), 5);
	head.writeUInt32BE(args.length, 6);
	head.writeUInt32BE(variables.length, 10);
	const strings = [label, executable, cwd, ...args, ...variables];
	const text = strings.map((string) => `${string}\0`).join("");
	return frame(Buffer.concat([head, Buffer.from(text)]));
}

function bits(descriptors: readonly number[]): number {
	return descriptors.reduce((sum, number) => sum | (1 << number), 0);
}

function frame(body: Buffer): Buffer | undefined {
	if (body.length > MAX_REQUEST_BYTES) return undefined;
	const length = Buffer.alloc(4);
	length.writeUInt32BE(body.length);
	return Buffer.concat([length, body]);
}

/** The version of the protocol that this package implements. */
const PROTOCOL_VERSION = 2;

/** What a process that forks reports, about itself or about one start. */
export type Answer =
	| { readonly type: "ready"; readonly pid: number }
	/** It cannot go on. */
	| { readonly type: "crashed"; readonly reason: string }
	/** It ends, and has left nothing running but `left` processes of other users. */
	| { readonly type: "ended"; readonly killed: number; readonly left: number }
	| AnswerOf;

export type AnswerOf =
	/** The process exists and waits for permission to run. */
	| { readonly type: "held"; readonly id: number; readonly pid: number }
	/** The program runs. */
	| { readonly type: "running"; readonly id: number }
	| {
			readonly type: "failed";
			readonly id: number;
			/** As the system numbers its errors; 0 where it is none of the system's. */
			readonly errno: number;
			readonly message: string;
	  }
	| {
			readonly type: "exited";
			readonly id: number;
			readonly exit: ProcessExit;
	  };

/**
 * Checks a message of a process that forks.
 *
 * @throws FrameError when it is none.
 */
export function parseAnswer(
	message: Readonly<Record<string, unknown>>,
): Answer {
	const { type } = message;
	switch (type) {
		case "ready":
			if (message["version"] !== PROTOCOL_VERSION)
				throw new FrameError(
					`the guard speaks version ${String(message["version"])} of its protocol, this package ${PROTOCOL_VERSION}`,
				);
			return { type, pid: count(message, "pid") };
		case "crashed":
			return { type, reason: text(message, "reason") };
		case "ended":
			return {
				type,
				killed: count(message, "killed"),
				left: count(message, "left"),
			};
		case "held":
			return { type, id: count(message, "id"), pid: count(message, "pid") };
		case "running":
			return { type, id: count(message, "id") };
		case "failed":
			return {
				type,
				id: count(message, "id"),
				errno: count(message, "errno"),
				message: text(message, "message"),
			};
		case "exited":
			return { type, id: count(message, "id"), exit: exitOf(message) };
		default:
			throw new FrameError(
				`no answer has the type ${JSON.stringify(type)?.slice(0, 40)}`,
			);
	}
}

// Reversed, because two have an older second name after their usual one: SIGIOT, SIGPOLL.
const SIGNALS = new Map(
	Object.entries(constants.signals)
		.reverse()
		.map(([name, number]) => [number, name as NodeJS.Signals]),
);

function exitOf(message: Readonly<Record<string, unknown>>): ProcessExit {
	const status = count(message, "status");
	if (message["how"] === "code") return { kind: "code", code: status };
	const signal = SIGNALS.get(status);
	// A real-time signal has no name here; shells report it like this.
	return signal === undefined
		? { kind: "code", code: 128 + status }
		: { kind: "signal", signal };
}

function count(
	message: Readonly<Record<string, unknown>>,
	field: string,
): number {
	const value = message[field];
	if (!Number.isSafeInteger(value) || (value as number) < 0)
		throw new FrameError(`${message["type"]} without ${field}`);
	return value as number;
}

function text(
	message: Readonly<Record<string, unknown>>,
	field: string,
): string {
	const value = message[field];
	if (typeof value !== "string")
		throw new FrameError(`${message["type"]} without ${field}`);
	return value;
}

/** Four bytes of length, big-endian, then that many bytes of one JSON object. */
const LENGTH_BYTES = 4;
/** The answers of a process that forks are short. */
export const MAX_ANSWER_BYTES = 65_536;

/** The other side does not keep to the protocol; nothing after this can be understood. */
export class FrameError extends Error {
	override readonly name = "FrameError";
}

/** Makes messages out of bytes, however they are cut. */
export class FrameReader {
	#waiting: Buffer = Buffer.alloc(0);

	/**
	 * Takes bytes; returns the messages that are complete now.
	 *
	 * @throws FrameError on a length over {@link MAX_ANSWER_BYTES}, or bytes that are no JSON object.
	 */
	feed(data: Buffer): readonly Readonly<Record<string, unknown>>[] {
		this.#waiting = Buffer.concat([this.#waiting, data]);
		const messages: Readonly<Record<string, unknown>>[] = [];
		while (this.#waiting.length >= LENGTH_BYTES) {
			const length = this.#waiting.readUInt32BE();
			if (length > MAX_ANSWER_BYTES)
				throw new FrameError(
					`a frame of ${length} bytes, over ${MAX_ANSWER_BYTES}`,
				);
			const end = LENGTH_BYTES + length;
			if (this.#waiting.length < end) break;
			messages.push(parse(this.#waiting.subarray(LENGTH_BYTES, end)));
			this.#waiting = this.#waiting.subarray(end);
		}
		return messages;
	}
}

function parse(body: Buffer): Readonly<Record<string, unknown>> {
	let message: unknown;
	try {
		message = JSON.parse(body.toString("utf8"));
	} catch (error) {
		throw new FrameError(`not JSON: ${String(error)}`);
	}
	if (typeof message !== "object" || message === null || Array.isArray(message))
		throw new FrameError("not a JSON object");
	return message as Readonly<Record<string, unknown>>;
}
