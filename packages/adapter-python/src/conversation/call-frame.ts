import { InputError } from "@snakepit/core";
import type { CallOptions } from "@snakepit/core/adapter";
import type { FrameCodec } from "../frames/frames.ts";
import { argumentsIn, callEnvelope, wholeMs } from "../frames/packed-frames.ts";
import type {
	CallMemory,
	EncodedValue,
	SharedMemory,
} from "../shared-memory/shared-memory.ts";
import { lentEncoder, NO_VALUE } from "../values/encode-value.ts";
import { describe } from "../values/value-not-transferable.ts";
import type { StreamCredit } from "./chunk-stream.ts";

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

/** What to say of arguments that cannot be sent. */
function refusedArguments(
	error: unknown,
	command: string,
	limit: number,
	isShared: boolean,
): unknown {
	if (!(error instanceof InputError)) return error;
	const subject = `The arguments of "${command}"`;
	const { code, ran, path } = error;
	return code === "MESSAGE_TOO_LARGE"
		? messageTooLarge(subject, limit, undefined, isShared ? NOT_SHARED : "")
		: new InputError({
				...{ code, ran, path },
				message: `${subject}: ${error.message}`,
			});
}

/**
 * The frame that begins a call, with its arguments in it or beside it, and the
 * shared memory that the call has from its begin. Arguments are an object, by name, or an array, by position.
 *
 * Lent up to {@link LENT_BYTES}.
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
	if (args !== undefined && (typeof args !== "object" || args === null)) {
		throw new InputError({
			code: "INVALID_ARGUMENTS",
			ran: "no",
			message: `"${command}" was called with ${describe(args)}: arguments must be an object (by name) or an array (by position). For a single argument, write [value].`,
			path: "$",
		});
	}
	const value = args === undefined ? NO_VALUE : args;
	const envelope =
		credit === undefined && !shared?.segments.gone.length
			? callEnvelope(calls, command, options)
			: undefined;
	let encoded: EncodedValue;
	let memory: CallMemory | undefined;
	try {
		if (shared === undefined)
			encoded = {
				value: lentEncoder.encode(
					value,
					{ maxBytes: maxMessageBytes },
					envelope,
				),
			};
		else
			({ encoded, memory } = shared.encodeArguments(
				command,
				value,
				maxMessageBytes,
				envelope,
				credit === undefined ? "result" : "stream",
			));
	} catch (error) {
		throw refusedArguments(
			error,
			command,
			maxMessageBytes,
			shared !== undefined,
		);
	}
	if (envelope !== undefined && memory === undefined)
		return { frame: encoded.value, memory };
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
