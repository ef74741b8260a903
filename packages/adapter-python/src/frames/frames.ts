import type { AttachmentName } from "../shared-memory/shared-memory.ts";

/**
 * The frames between a host and a worker, as plain records (docs/bridge-protocol.md, section 3).
 *
 * A transport encodes them: the framed one as MessagePack, gRPC as protobuf, whose messages have fields of the same
 * names.
 */

/** Begins a call. Exactly one result, end or failure answers it. */
export interface CallFrame {
	readonly kind: "call";
	readonly callId: number;
	/** Encoded: a map of keyword arguments or a list of positional ones; empty for none. */
	readonly arguments: Uint8Array;
	readonly tool: string;
	/** What is left of the deadline; 0: there is none. */
	readonly timeoutMs: number;
	/** Empty: no session. */
	readonly sessionId: string;
	/** W3C trace context and baggage, and nothing else. */
	readonly traceContext: Readonly<Record<string, string>>;
	/** How many chunks may be out; `undefined` for a call with one result. */
	readonly streamCredit: number | undefined;
	/** More may be out while all of them have fewer bytes than this. */
	readonly streamBytes: number;
	readonly hasInput: boolean;
	/** The large parts of the arguments. */
	readonly attachment: AttachmentName | undefined;
	/** A segment for the large parts of the result; empty: none. */
	readonly resultSegment: string;
	/** Segments that the host has closed. Their names do not come again. */
	readonly segmentsGone: readonly string[];
	readonly wantsProgress: boolean;
	/** Whether calls of this session may hold objects in this worker. */
	readonly allowsHandles: boolean;
}

/** Why a call is cancelled. */
export type CancelReason = "CALLER" | "DEADLINE" | "SHUTDOWN";

/** A frame that the host sends. */
export type HostFrame =
	| CallFrame
	| {
			readonly kind: "cancel";
			readonly callId: number;
			readonly reason: CancelReason;
	  }
	/** Chunks of a stream were taken: as many more are allowed. */
	| {
			readonly kind: "credit";
			readonly callId: number;
			readonly chunks: number;
	  }
	/** One item of a call's input stream. */
	| {
			readonly kind: "input";
			readonly callId: number;
			readonly value: Uint8Array;
	  }
	/** The input ended; with a message if the host's iterable threw. */
	| {
			readonly kind: "inputEnd";
			readonly callId: number;
			readonly errorMessage: string;
	  }
	| {
			readonly kind: "hostResult";
			readonly hostCallId: number;
			readonly value: Uint8Array;
	  }
	| {
			readonly kind: "hostFailure";
			readonly hostCallId: number;
			readonly code: string;
			readonly message: string;
	  }
	| { readonly kind: "sessionEnd"; readonly sessionId: string }
	/** Another report of progress is wanted. */
	| { readonly kind: "progressCredit"; readonly callId: number };

/** The result of a call. */
export interface ResultFrame {
	readonly kind: "result";
	readonly callId: number;
	/** When the call began, in microseconds of the machine's monotonic clock, modulo 2^32; not over every transport. */
	readonly beganUs: number | undefined;
	/** How long it ran, in microseconds. */
	readonly ranUs: number | undefined;
	readonly value: Uint8Array;
	readonly attachment: AttachmentName | undefined;
	/** Nothing in the worker refers to the segment of the arguments any more. */
	readonly argumentsFree: boolean;
}

/** One item of a call's output stream. */
export interface ChunkFrame {
	readonly kind: "chunk";
	readonly callId: number;
	readonly value: Uint8Array;
	readonly attachment: AttachmentName | undefined;
}

/** The output stream ended well. */
export interface EndFrame {
	readonly kind: "end";
	readonly callId: number;
	/** What the tool returned after the last chunk; empty: null. */
	readonly value: Uint8Array;
	readonly attachment: AttachmentName | undefined;
	readonly argumentsFree: boolean;
}

/** Why a call failed (docs/bridge-protocol.md, section 3); a later version may have more. */
export type FailureCode =
	| "TOOL_FAILED"
	| "TOOL_NOT_FOUND"
	| "INVALID_ARGUMENTS"
	| "VALUE_NOT_TRANSFERABLE"
	| "RESULT_TOO_LARGE"
	| "CANCELLED"
	| "WRONG_SHAPE"
	| "LEAVING"
	| "RECALLED"
	| "HANDLE_INVALID"
	| "HANDLE_REFUSED";

/** A Python exception. */
export interface PythonErrorRecord {
	/** `module.QualifiedName`, without the module for builtins. */
	readonly type: string;
	readonly message: string;
	/** As Python prints it, of limited length. */
	readonly traceback: string;
	readonly notes: readonly string[];
	readonly frames: readonly {
		readonly file: string;
		readonly line: number;
		readonly function: string;
	}[];
	readonly cause: PythonErrorRecord | undefined;
}

export interface FailureFrame {
	readonly kind: "failure";
	readonly callId: number;
	readonly code: FailureCode | (string & {});
	readonly message: string;
	/** Whether user code may have begun. */
	readonly began: boolean;
	/** For invalid arguments and values: where, as `$.images[3]`. */
	readonly path: string;
	readonly argumentsFree: boolean;
	readonly error: PythonErrorRecord | undefined;
}

/** A tool calls a function of the host. */
export interface HostCallFrame {
	readonly kind: "hostCall";
	readonly hostCallId: number;
	/** The call that the tool runs. */
	readonly callId: number;
	readonly function: string;
	readonly argument: Uint8Array;
	readonly traceContext: Readonly<Record<string, string>>;
}

/** One record of Python's `logging`. */
export interface LogFrame {
	readonly kind: "log";
	/** 0 if it belongs to no call. */
	readonly callId: number;
	readonly logger: string;
	/** Python's numeric level. */
	readonly level: number;
	readonly message: string;
	/** Microseconds since the Unix epoch. */
	readonly timeUs: number;
	readonly traceback: string;
	readonly traceId: string;
	readonly spanId: string;
	/** Whether the worker has printed it, or a handler of the tools takes it. */
	readonly handled: boolean;
}

export interface ProgressFrame {
	readonly kind: "progress";
	readonly callId: number;
	/** From 0 to 1; `undefined` if the tool cannot say. */
	readonly fraction: number | undefined;
	readonly message: string;
}

/** A frame that the worker sends. */
export type WorkerFrame =
	| ResultFrame
	| ChunkFrame
	| EndFrame
	| FailureFrame
	/** The tool has read items of the input: as many more are allowed. */
	| {
			readonly kind: "inputCredit";
			readonly callId: number;
			readonly chunks: number;
	  }
	| HostCallFrame
	/** Nothing waits for this host call any more. */
	| { readonly kind: "hostCallCancel"; readonly hostCallId: number }
	| LogFrame
	| ProgressFrame
	/** Source files that the worker has loaded, after a moment in microseconds since the Unix epoch. */
	| {
			readonly kind: "sources";
			readonly files: readonly string[];
			readonly sinceUs: number;
	  };

/** How a transport encodes frames. */
export interface FrameCodec {
	encode(frame: HostFrame): Uint8Array;
	/**
	 * Decodes the bytes from `begin` to `end`. Small ones may be overwritten afterwards.
	 *
	 * @throws Error when they are no frame, or one of a kind that this protocol version does not have.
	 */
	decode(bytes: Uint8Array, begin: number, end: number): WorkerFrame;
}

/** The answer to a ping. */
export interface PingAnswer {
	readonly sequence: number;
	readonly callsRunning: number;
}

/** What a worker reports about one of its tools. */
export interface ToolRecord {
	readonly name: string;
	readonly description: string;
	readonly shape: "UNARY" | "STREAM";
	readonly readsInput: boolean;
	readonly argumentsSchemaJson: string;
	readonly resultSchemaJson: string;
	readonly batchMax: number | undefined;
}
