import { InputError } from "@snakepit/core";
import type { CallOptions } from "@snakepit/core/adapter";
import type { FrameCodec } from "../frames/frames.ts";
import { argumentsIn, CallEnvelope, wholeMs } from "../frames/packed-frames.ts";
import type {
	AttachmentSink,
	CallMemory,
	EncodedValue,
	SharedMemory,
} from "../shared-memory/shared-memory.ts";
import {
	type Envelope,
	encodeLentValue,
	NO_VALUE,
} from "../values/encode-value.ts";
import { describe } from "../values/value-not-transferable.ts";
import type { StreamCredit } from "./chunk-stream.ts";

/** Arguments of a call, and the room that its frame has for them. */
interface GivenArguments {
	readonly command: string;
	readonly args: unknown;
	readonly maxBytes: number;
	/** What is around them in the frame of a usual call. */
	readonly envelope: Envelope | undefined;
	/** Whether their large parts go through shared memory. */
	readonly isShared: boolean;
}

/**
 * Encodes the arguments of a call, with what is around them: an object for keyword arguments, an array for positional ones.
 *
 * Lent up to {@link LENT_BYTES}.
 *
 * @throws InputError `INVALID_ARGUMENTS` when it is neither, `VALUE_NOT_TRANSFERABLE`, `MESSAGE_TOO_LARGE`.
 */
function encodeArguments(
	{ command, args, maxBytes, envelope, isShared }: GivenArguments,
	attachment?: AttachmentSink,
): Uint8Array {
	if (args === undefined && envelope === undefined) return NO_BYTES;
	if (args !== undefined && (typeof args !== "object" || args === null)) {
		throw new InputError({
			code: "INVALID_ARGUMENTS",
			ran: "no",
			message: `"${command}" was called with ${describe(args)}: arguments must be an object (by name) or an array (by position). For a single argument, write [value].`,
			path: "$",
		});
	}
	try {
		return encodeLentValue(
			args === undefined ? NO_VALUE : args,
			{ maxBytes, attachment },
			envelope,
		);
	} catch (error) {
		if (!(error instanceof InputError)) throw error;
		const subject = `The arguments of "${command}"`;
		if (error.code === "MESSAGE_TOO_LARGE")
			throw messageTooLarge(
				subject,
				maxBytes,
				undefined,
				isShared ? NOT_SHARED : "",
			);
		const { code, ran, path } = error;
		throw new InputError({
			code,
			ran,
			path,
			message: `${subject}: ${error.message}`,
		});
	}
}

const NO_BYTES = new Uint8Array(0);

const NOT_SHARED =
	" Bytes and arrays are in the message, too, if they are larger than sharedMemory.limitBytes or the shared memory has no room for them.";

/** The error for a message over the limit: no part of it was sent. @param bytes left out if the exact size is unknown. */
export function messageTooLarge(
	what: string,
	limit: number,
	bytes?: number,
	more = "",
): InputError {
	return new InputError({
		code: "MESSAGE_TOO_LARGE",
		ran: "no",
		message: `${what}: a message of ${bytes ?? `more than ${limit}`} bytes is over the limit of ${limit} (the adapter's maxMessageBytes). Send less, send a path, send an input stream in parts, or raise the limit.${more}`,
	});
}

/**
 * The frame that begins a call, with its arguments in it or beside it, and the
 * shared memory that the call has from its begin.
 *
 * @param calls the calls before it, requested when the arguments are encoded: a getter in them may have made a call.
 * @param shared the memory shared with the worker, if there is one.
 * @param codec encodes an unusual call.
 * @param credit of a stream; `undefined` for a call with one answer.
 * @throws InputError `INVALID_ARGUMENTS`, `VALUE_NOT_TRANSFERABLE`, `MESSAGE_TOO_LARGE`.
 */
export function callFrame(
	calls: { readonly lastCall: number },
	command: string,
	args: unknown,
	options: CallOptions,
	maxMessageBytes: number,
	shared: SharedMemory | undefined,
	codec: FrameCodec,
	credit: StreamCredit | undefined,
): { readonly frame: Uint8Array; readonly memory: CallMemory | undefined } {
	const envelope =
		credit === undefined && !shared?.segments.gone.length
			? CallEnvelope.of(calls.lastCall + 1, command, options)
			: undefined;
	const given: GivenArguments = {
		command,
		args,
		maxBytes: maxMessageBytes,
		envelope,
		isShared: shared !== undefined,
	};
	const { encoded, memory } =
		shared === undefined
			? {
					encoded: { value: encodeArguments(given) } as EncodedValue,
					memory: undefined,
				}
			: shared.encodeArguments(
					given,
					encodeArguments,
					credit === undefined ? "result" : "stream",
				);
	if (envelope !== undefined && memory === undefined) {
		envelope.writeHead(encoded.value, calls.lastCall + 1);
		return { frame: encoded.value, memory };
	}
	const frame = codec.encode({
		kind: "call",
		callId: calls.lastCall + 1,
		tool: command,
		arguments:
			envelope === undefined ? encoded.value : argumentsIn(encoded.value),
		attachment: encoded.attachment,
		resultSegment: memory?.resultSegment ?? "",
		segmentsGone: shared === undefined ? [] : [...shared.segments.gone],
		timeoutMs: options.timeoutMs === undefined ? 0 : wholeMs(options.timeoutMs),
		sessionId: options.sessionId ?? "",
		// Without its symbols.
		traceContext: Object.fromEntries(Object.entries(options.traceContext)),
		streamCredit: credit?.chunks,
		streamBytes: credit?.smallBytes ?? 0,
		hasInput: options.input !== undefined,
		wantsProgress: options.onProgress !== undefined,
		allowsHandles: options.session?.affinity === "strict",
	});
	return { frame, memory };
}
