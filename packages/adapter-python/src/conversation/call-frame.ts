import { InputError } from "@snakepit/core";
import type { CallOptions } from "@snakepit/core/adapter";
import type {
	AttachmentSink,
	ValueImage,
} from "../shared-memory/attachment.ts";
import type { CallMemory } from "../shared-memory/call-memory.ts";
import type { SharedMemory } from "../shared-memory/shared-memory.ts";
import { encodeLentValue } from "../values/encode-value.ts";
import { describe } from "../values/no-image.ts";
import { compactCallHead, wholeMs, writeCompactCall } from "./compact-frame.ts";
import type { StreamCredit } from "./credit-window.ts";
import { encodeFrame } from "./frame-codec.ts";

/** Arguments of a call, and the room that its frame has for them. */
interface GivenArguments {
	readonly command: string;
	readonly args: unknown;
	readonly maxBytes: number;
	readonly headBytes: number;
	/** Whether their large parts go through shared memory. */
	readonly isShared: boolean;
}

/**
 * Encodes the arguments of a call after some free room: an object for keyword arguments, an array for positional ones.
 *
 * Lent up to {@link LENT_BYTES}.
 *
 * @throws InputError `INVALID_ARGUMENTS` when it is neither, `VALUE_NOT_TRANSFERABLE`, `MESSAGE_TOO_LARGE`.
 */
function encodeArguments(
	{ command, args, maxBytes, headBytes, isShared }: GivenArguments,
	attachment?: AttachmentSink,
): Uint8Array {
	if (args === undefined) return new Uint8Array(headBytes);
	if (typeof args !== "object" || args === null) {
		throw new InputError({
			code: "INVALID_ARGUMENTS",
			ran: "no",
			message: `"${command}" was called with ${describe(args)}: arguments must be an object (by name) or an array (by position). For a single argument, write [value].`,
			path: "$",
		});
	}
	try {
		return encodeLentValue(args, { maxBytes, attachment, headBytes });
	} catch (error) {
		if (!(error instanceof InputError)) throw error;
		const what = `The arguments of "${command}"`;
		if (error.code === "MESSAGE_TOO_LARGE")
			throw messageTooLarge(
				what,
				maxBytes,
				undefined,
				isShared ? NOT_SHARED : "",
			);
		const { code, ran, path } = error;
		throw new InputError({
			code,
			ran,
			path,
			message: `${what}: ${error.message}`,
		});
	}
}

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
	credit: StreamCredit | undefined,
): { readonly frame: Uint8Array; readonly memory: CallMemory | undefined } {
	const headBytes =
		credit === undefined && !shared?.segments.gone.length
			? compactCallHead(calls.lastCall + 1, command, options)
			: undefined;
	const given: GivenArguments = {
		command,
		args,
		maxBytes: maxMessageBytes,
		headBytes: headBytes ?? 0,
		isShared: shared !== undefined,
	};
	const { image, memory } =
		shared === undefined
			? {
					image: { value: encodeArguments(given) } as ValueImage,
					memory: undefined,
				}
			: shared.encodeArguments(
					given,
					encodeArguments,
					credit === undefined ? "result" : "stream",
				);
	if (headBytes !== undefined && memory === undefined) {
		writeCompactCall(image.value, calls.lastCall + 1, command, options);
		return { frame: image.value, memory };
	}
	const frame = encodeFrame({
		$case: "call",
		value: {
			callId: calls.lastCall + 1,
			tool: command,
			arguments: image.value.subarray(headBytes ?? 0),
			attachment: image.attachment,
			resultSegment: memory?.resultSegment ?? "",
			segmentsGone: shared === undefined ? [] : [...shared.segments.gone],
			timeoutMs:
				options.timeoutMs === undefined ? 0 : wholeMs(options.timeoutMs),
			sessionId: options.sessionId ?? "",
			traceContext: { ...options.traceContext },
			streamCredit: credit?.chunks,
			streamBytes: credit?.smallBytes ?? 0,
			hasInput: options.input !== undefined,
			wantsProgress: options.onProgress !== undefined,
			mayHold: options.session?.affinity === "strict",
		},
	});
	return { frame, memory };
}
