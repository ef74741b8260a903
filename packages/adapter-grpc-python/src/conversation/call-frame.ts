import type { CallOptions } from "@snakepit/core/adapter";
import type { AttachmentSink } from "../shared-memory/attachment.ts";
import type { CallMemory } from "../shared-memory/call-memory.ts";
import { encodeArguments } from "./call-arguments.ts";
import type { StreamCredit } from "./credit-window.ts";
import type { HostMessage } from "./frame-codec.ts";

/**
 * The frame that begins a call, with its arguments in it or beside it.
 *
 * @param memory what the call has of the shared memory.
 * @param credit of a stream; `undefined` for a call with one answer.
 * @throws InputError as `encodeArguments`.
 */
export function callFrame(
	number: number,
	command: string,
	args: unknown,
	options: CallOptions,
	maxMessageBytes: number,
	memory: CallMemory | undefined,
	credit: StreamCredit | undefined,
): HostMessage {
	const encode = (attachment?: AttachmentSink): Uint8Array =>
		encodeArguments(command, args, maxMessageBytes, attachment);
	const { value, attachment } = memory?.arguments(encode) ?? {
		value: encode(),
		attachment: undefined,
	};
	if (credit === undefined) memory?.expectResult();
	return {
		$case: "call",
		value: {
			callId: number,
			tool: command,
			arguments: value,
			attachment,
			resultSegment: memory?.resultSegment ?? "",
			segmentsGone: [...(memory?.segmentsGone ?? [])],
			timeoutMs:
				options.timeoutMs === undefined
					? 0
					: Math.max(1, Math.round(options.timeoutMs)),
			sessionId: options.sessionId ?? "",
			traceContext: { ...options.traceContext },
			streamCredit: credit?.chunks,
			streamBytes: credit?.smallBytes ?? 0,
			hasInput: options.input !== undefined,
		},
	};
}
