import type { AttachmentName } from "../shared-memory/shared-memory.ts";
import { decodeValue } from "../values/decode-value.ts";
import { encodeValue } from "../values/encode-value.ts";
import type {
	CallFrame,
	FrameCodec,
	HostFrame,
	PingAnswer,
	PythonErrorRecord,
	ToolRecord,
	WorkerFrame,
} from "./frames.ts";

/**
 * Frames and signals as MessagePack: an array of a kind and the fields, by the same encoder and decoder as values. So
 * no message takes more memory than its length justifies, and none can run code.
 */
export const MESSAGE_PACK: FrameCodec = {
	encode: (frame) => encodeValue(partsOf(frame)),
	decode(bytes, begin, end) {
		const [kind, ...fields] = list(decodeValue(bytes, undefined, begin, end));
		const decode = FRAMES[number(kind)];
		if (decode === undefined)
			throw new Error(`a frame of the unknown kind ${String(kind)}`);
		return decode(fields);
	},
};

/** The number of a call among the frames of the host. */
export const CALL = 1;
/** That of a call of which no trace is recorded. */
export const UNRECORDED_CALL = 10;
/** The number of a result among the frames of the worker. */
export const RESULT = 1;

function partsOf(frame: HostFrame): readonly unknown[] {
	switch (frame.kind) {
		case "call":
			return [
				CALL,
				frame.callId,
				frame.arguments,
				frame.tool.toWellFormed(),
				callOptions(frame),
			];
		case "cancel":
			return [2, frame.callId, frame.reason];
		case "credit":
			return [3, frame.callId, frame.chunks];
		case "input":
			return [4, frame.callId, frame.value];
		case "inputEnd":
			return [5, frame.callId, frame.errorMessage];
		case "hostResult":
			return [6, frame.hostCallId, frame.value];
		case "hostFailure":
			return [7, frame.hostCallId, frame.code, frame.message];
		case "sessionEnd":
			return [8, frame.sessionId.toWellFormed()];
		case "progressCredit":
			return [9, frame.callId];
	}
}

/** What a call has besides its arguments, by name; `undefined` is left out. */
function callOptions(frame: CallFrame): Readonly<Record<string, unknown>> {
	const { attachment, traceContext, segmentsGone } = frame;
	return {
		timeout_ms: frame.timeoutMs || undefined,
		session_id: frame.sessionId.toWellFormed() || undefined,
		trace_context:
			Object.keys(traceContext).length === 0 ? undefined : traceContext,
		stream_credit: frame.streamCredit,
		stream_bytes: frame.streamBytes || undefined,
		has_input: frame.hasInput || undefined,
		attachment: attachment && [
			attachment.name,
			attachment.size,
			attachment.offset,
		],
		result_segment: frame.resultSegment || undefined,
		segments_gone: segmentsGone.length === 0 ? undefined : segmentsGone,
		wants_progress: frame.wantsProgress || undefined,
		allows_handles: frame.allowsHandles || undefined,
	};
}

type Fields = readonly unknown[];

/** How to read a frame of the worker, by its number. */
const FRAMES: readonly (((fields: Fields) => WorkerFrame) | undefined)[] = [
	undefined,
	([callId, beganUs, ranUs, value, attachment, argumentsFree]) => ({
		kind: "result",
		callId: number(callId),
		beganUs: number(beganUs),
		ranUs: number(ranUs),
		value: bytes(value),
		attachment: optional(attachment, attachmentOf),
		argumentsFree: argumentsFree === true,
	}),
	([callId, value, attachment]) => ({
		kind: "chunk",
		callId: number(callId),
		value: bytes(value),
		attachment: optional(attachment, attachmentOf),
	}),
	([callId, value, attachment, argumentsFree]) => ({
		kind: "end",
		callId: number(callId),
		value: bytes(value),
		attachment: optional(attachment, attachmentOf),
		argumentsFree: argumentsFree === true,
	}),
	([callId, code, message, began, path, argumentsFree, error]) => ({
		kind: "failure",
		callId: number(callId),
		code: text(code),
		message: text(message),
		began: boolean(began),
		path: text(path),
		argumentsFree: argumentsFree === true,
		error: optional(error, errorOf),
	}),
	([callId, chunks]) => ({
		kind: "inputCredit",
		callId: number(callId),
		chunks: number(chunks),
	}),
	([hostCallId, callId, name, argument, traceContext]) => ({
		kind: "hostCall",
		hostCallId: number(hostCallId),
		callId: number(callId),
		function: text(name),
		argument: bytes(argument),
		traceContext: texts(traceContext),
	}),
	([hostCallId]) => ({
		kind: "hostCallCancel",
		hostCallId: number(hostCallId),
	}),
	(fields) => ({
		kind: "log",
		callId: number(fields[0]),
		logger: text(fields[1]),
		level: number(fields[2]),
		message: text(fields[3]),
		timeUs: number(fields[4]),
		traceback: text(fields[5]),
		traceId: text(fields[6]),
		spanId: text(fields[7]),
		handled: boolean(fields[8]),
	}),
	([callId, fraction, message]) => ({
		kind: "progress",
		callId: number(callId),
		fraction: optional(fraction, anyNumber),
		message: text(message),
	}),
	([files, sinceUs]) => ({
		kind: "sources",
		files: list(files).map(text),
		sinceUs: number(sinceUs),
	}),
];

function attachmentOf(value: unknown): AttachmentName {
	const [name, size, offset] = list(value);
	return { name: text(name), size: number(size), offset: number(offset) };
}

function errorOf(value: unknown): PythonErrorRecord {
	const [type, message, traceback, notes, frames, cause] = list(value);
	return {
		type: text(type),
		message: text(message),
		traceback: text(traceback),
		notes: list(notes).map(text),
		frames: list(frames).map((frame) => {
			const [file, line, name] = list(frame);
			return { file: text(file), line: number(line), function: text(name) };
		}),
		cause: optional(cause, errorOf),
	};
}

/** What the framed transport says besides frames: what gRPC does by other means. */
export type HostSignal =
	| { readonly kind: "hello"; readonly token: string }
	| { readonly kind: "ping"; readonly sequence: number }
	| { readonly kind: "describe" }
	| { readonly kind: "leave" };

export type WorkerSignal =
	| { readonly kind: "welcome" }
	| { readonly kind: "ping"; readonly answer: PingAnswer }
	| { readonly kind: "described"; readonly tools: readonly ToolRecord[] }
	| { readonly kind: "bye"; readonly reason: string; readonly message: string };

export function encodeSignal(signal: HostSignal): Uint8Array {
	switch (signal.kind) {
		case "hello":
			return encodeValue([1, signal.token]);
		case "ping":
			return encodeValue([2, signal.sequence]);
		case "describe":
			return encodeValue([3]);
		case "leave":
			return encodeValue([5]);
	}
}

/** Decodes a signal; `undefined` for one of a later version. @throws Error when it is none. */
export function decodeSignal(
	message: Uint8Array,
	begin: number,
	end: number,
): WorkerSignal | undefined {
	const [kind, ...fields] = list(decodeValue(message, undefined, begin, end));
	switch (number(kind)) {
		case 1:
			return { kind: "welcome" };
		case 2: {
			const [sequence, callsRunning] = fields.map(number);
			return {
				kind: "ping",
				answer: {
					sequence: number(sequence),
					callsRunning: number(callsRunning),
				},
			};
		}
		case 3:
			return { kind: "described", tools: list(fields[0]).map(toolOf) };
		case 5:
			return { kind: "bye", reason: text(fields[0]), message: text(fields[1]) };
		default:
			return undefined;
	}
}

function toolOf(value: unknown): ToolRecord {
	const [name, description, shape, readsInput, args, result, batchMax] =
		list(value);
	return {
		name: text(name),
		description: text(description),
		shape: shape === "STREAM" ? "STREAM" : "UNARY",
		readsInput: boolean(readsInput),
		argumentsSchemaJson: text(args),
		resultSchemaJson: text(result),
		batchMax: optional(batchMax, number),
	};
}

// What a field must be:

function optional<Value>(
	value: unknown,
	read: (value: unknown) => Value,
): Value | undefined {
	return value === undefined || value === null ? undefined : read(value);
}

function list(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : misplaced(value, "a list");
}

/** A number of something. */
function number(value: unknown): number {
	return Number.isSafeInteger(value) && (value as number) >= 0
		? (value as number)
		: misplaced(value, "a whole number");
}

function anyNumber(value: unknown): number {
	return typeof value === "number" ? value : misplaced(value, "a number");
}

function boolean(value: unknown): boolean {
	return typeof value === "boolean" ? value : misplaced(value, "a boolean");
}

function text(value: unknown): string {
	return typeof value === "string" ? value : misplaced(value, "text");
}

function bytes(value: unknown): Uint8Array {
	return value instanceof Uint8Array ? value : misplaced(value, "bytes");
}

function texts(value: unknown): Readonly<Record<string, string>> {
	if (typeof value !== "object" || value === null || Array.isArray(value))
		misplaced(value, "a map");
	for (const each of Object.values(value)) text(each);
	return value as Readonly<Record<string, string>>;
}

function misplaced(value: unknown, wanted: string): never {
	throw new Error(`a message with a ${typeof value} where ${wanted} belongs`);
}
