import type { HostSignal } from "../../src/frames/frame-codec.ts";
import type {
	CallFrame,
	FailureFrame,
	HostFrame,
	PythonErrorRecord,
	WorkerFrame,
} from "../../src/frames/frames.ts";
import { decodeValue, encodeValue } from "../../src/index.ts";
import type { AttachmentName } from "../../src/shared-memory/shared-memory.ts";

/** The worker's side of frames as MessagePack (docs/bridge-protocol.md, section 3). */

const KINDS = [
	"call",
	"cancel",
	"credit",
	"input",
	"inputEnd",
	"hostResult",
	"hostFailure",
	"sessionEnd",
	"progressCredit",
	"unrecordedCall",
] as const;

const FIELDS = {
	cancel: ["callId", "reason"],
	credit: ["callId", "chunks"],
	input: ["callId", "value"],
	inputEnd: ["callId", "errorMessage"],
	hostResult: ["hostCallId", "value"],
	hostFailure: ["hostCallId", "code", "message"],
	sessionEnd: ["sessionId"],
	progressCredit: ["callId"],
} as const;

/** What a test reads of a call. */
export type HeardCall = CallFrame & { readonly unrecorded: boolean };

/** Reads a frame of the host. */
export function decodeHostFrame(bytes: Uint8Array): HostFrame {
	const [number, ...values] = decodeValue(bytes) as [number, ...unknown[]];
	const name = KINDS[number - 1] as (typeof KINDS)[number];
	if (name === "call" || name === "unrecordedCall")
		return callOf(values, name === "unrecordedCall");
	const kind: Exclude<HostFrame["kind"], "call"> = name;
	return Object.fromEntries([
		["kind", kind],
		...FIELDS[kind].map((name, i) => [name, values[i]]),
	]) as HostFrame;
}

function callOf(
	[callId, args, tool, options = {}]: unknown[],
	unrecorded: boolean,
): HeardCall {
	const given = options as Record<string, unknown>;
	const [name, size, offset] = (given["attachment"] ?? []) as unknown[];
	return {
		kind: "call",
		callId,
		arguments: args,
		tool,
		timeoutMs: given["timeout_ms"] ?? 0,
		sessionId: given["session_id"] ?? "",
		traceContext: given["trace_context"] ?? {},
		streamCredit: given["stream_credit"],
		streamBytes: given["stream_bytes"] ?? 0,
		hasInput: given["has_input"] ?? false,
		attachment: name === undefined ? undefined : { name, size, offset },
		resultSegment: given["result_segment"] ?? "",
		segmentsGone: given["segments_gone"] ?? [],
		wantsProgress: given["wants_progress"] ?? false,
		allowsHandles: given["allows_handles"] ?? false,
		unrecorded,
	} as HeardCall;
}

/** Writes a frame of the worker. */
export function encodeWorkerFrame(frame: WorkerFrame): Uint8Array {
	return encodeValue(partsOf(frame));
}

function partsOf(frame: WorkerFrame): unknown[] {
	switch (frame.kind) {
		case "result":
			return [
				...[1, frame.callId, frame.beganUs ?? 0, frame.ranUs ?? 0, frame.value],
				...[attachmentOf(frame.attachment), frame.argumentsFree],
			];
		case "chunk":
			return [2, frame.callId, frame.value, attachmentOf(frame.attachment)];
		case "end":
			return [
				...[3, frame.callId, frame.value, attachmentOf(frame.attachment)],
				frame.argumentsFree,
			];
		case "failure":
			return [
				...[4, frame.callId, frame.code, frame.message, frame.began],
				...[frame.path, frame.argumentsFree, errorOf(frame.error)],
			];
		case "inputCredit":
			return [5, frame.callId, frame.chunks];
		case "hostCall":
			return [
				...[6, frame.hostCallId, frame.callId, frame.function],
				...[frame.argument, frame.traceContext],
			];
		case "hostCallCancel":
			return [7, frame.hostCallId];
		case "log":
			return [
				...[8, frame.callId, frame.logger, frame.level, frame.message],
				...[frame.timeUs, frame.traceback, frame.traceId, frame.spanId],
				frame.handled,
			];
		case "progress":
			return [9, frame.callId, frame.fraction ?? null, frame.message];
		case "sources":
			return [10, frame.files, frame.sinceUs];
	}
}

function attachmentOf(attachment: AttachmentName | undefined): unknown {
	return attachment === undefined
		? null
		: [attachment.name, attachment.size, attachment.offset];
}

function errorOf(error: PythonErrorRecord | undefined): unknown {
	return error === undefined
		? null
		: [
				...[error.type, error.message, error.traceback, error.notes],
				error.frames.map(({ file, line, function: name }) => [
					...[file, line, name],
				]),
				errorOf(error.cause),
			];
}

/** A failure that says nothing but why. */
export function failureFrame(
	callId: number,
	more: Partial<FailureFrame> = {},
): FailureFrame {
	return {
		kind: "failure",
		callId,
		code: "TOOL_FAILED",
		message: "",
		began: false,
		path: "",
		argumentsFree: false,
		error: undefined,
		...more,
	};
}

/** Reads a signal of the host. */
export function decodeHostSignal(bytes: Uint8Array): HostSignal {
	const [kind, value] = decodeValue(bytes) as [number, unknown];
	switch (kind) {
		case 1:
			return { kind: "hello", token: value as string };
		case 2:
			return { kind: "ping", sequence: value as number };
		case 3:
			return { kind: "describe" };
		default:
			return { kind: "leave" };
	}
}
