import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type {
	FrameCodec,
	HostFrame,
	ToolRecord,
	WorkerFrame,
} from "@snakepit/adapter-python/transport";
import {
	CancelReason,
	FailureKind,
	HostFrame as HostMessage,
	type MessageFns,
	type PythonError,
	type Tool,
	ToolShape,
	WorkerFrame as WorkerMessage,
} from "../gen/bridge.ts";

type PythonErrorRecord = NonNullable<
	Extract<WorkerFrame, { readonly kind: "failure" }>["error"]
>;

/** A writer keeps its memory: small messages reuse it; after a larger message, it is released. */
const KEPT_BYTES = 16 * 1024;
const FAILURE_PREFIX = "FAILURE_KIND_";
let keptWriter: BinaryWriter | undefined;

/** Frames as messages of bridge.proto, whose fields have the same names. */
export const PROTOBUF: FrameCodec = {
	encode: (frame) => encodeMessage(HostMessage, { frame: messageOf(frame) }),
	decode: (bytes, begin, end) =>
		frameOf(WorkerMessage.decode(bytes.subarray(begin, end)).frame),
};

/** Encodes with one writer that all messages share: allocating its memory would be a large part of the cost of a small message. */
export function encodeMessage<Message>(
	kind: Pick<MessageFns<Message>, "encode">,
	message: Message,
): Uint8Array {
	const writer = keptWriter ?? new BinaryWriter();
	// The writer is not kept if it throws: the bytes written so far would precede the next message.
	keptWriter = undefined;
	const bytes = kind.encode(message, writer).finish();
	if (bytes.length <= KEPT_BYTES) keptWriter = writer;
	return bytes;
}

function messageOf(frame: HostFrame): HostMessage["frame"] {
	const { kind: $case, ...value } = frame;
	if (frame.kind === "cancel") {
		const reason = CancelReason[`CANCEL_REASON_${frame.reason}`];
		return { $case: "cancel", value: { callId: frame.callId, reason } };
	}
	return { $case, value } as HostMessage["frame"];
}

function frameOf(message: WorkerMessage["frame"]): WorkerFrame {
	if (message === undefined)
		throw new Error("a frame of a kind that is not known here");
	switch (message.$case) {
		case "ping":
		case "batch":
			throw new Error(`a ${message.$case} in a batch`);
		case "result":
			return {
				...message.value,
				kind: "result",
				beganUs: undefined,
				ranUs: message.value.ranUs,
			};
		case "failure": {
			const { kind, error, ...value } = message.value;
			return {
				...value,
				kind: "failure",
				code: FAILURE_NAMES.get(kind) ?? "",
				error: error && errorOf(error),
			};
		}
		default:
			return { kind: message.$case, ...message.value } as WorkerFrame;
	}
}

const FAILURE_NAMES: ReadonlyMap<number, string> = new Map(
	Object.entries(FailureKind).map(([name, number]) => [
		number,
		name.slice(FAILURE_PREFIX.length),
	]),
);

function errorOf({ cause, ...error }: PythonError): PythonErrorRecord {
	return { ...error, cause: cause && errorOf(cause) };
}

/** A tool as the worker describes it. */
export function toolOf(tool: Tool): ToolRecord {
	const { shape, ...record } = tool;
	return {
		...record,
		shape: shape === ToolShape.TOOL_SHAPE_STREAM ? "STREAM" : "UNARY",
		batchMax: tool.batchMax,
	};
}
