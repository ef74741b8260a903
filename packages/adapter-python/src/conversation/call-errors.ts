import {
	CallAbortedError,
	InputError,
	type Ran,
	type RemoteError,
	type SnakepitError,
	ToolError,
	WorkerLostError,
} from "@snakepit/core";
import {
	ConnectionBrokenError,
	type InputErrorCode,
	messageOf,
} from "@snakepit/core/adapter";
import type { FailureFrame, PythonErrorRecord } from "../frames/frames.ts";

/** The call that failed, for messages. */
export interface FailedCall {
	readonly workerId: string;
	readonly command: string;
	/** Why the host asked the worker to end the call; `undefined` when it did not. */
	readonly cancelled: { readonly reason: unknown } | undefined;
	/** The error of the caller's input stream. */
	readonly inputError: unknown;
	/** The error of the last host function that failed for it. */
	readonly hostError: { readonly error: unknown } | undefined;
}

const HOST_CALL_FAILED = "snakepit_bridge.HostCallFailed";

const INPUT_CODES: ReadonlySet<string> = new Set<InputErrorCode>([
	"TOOL_NOT_FOUND",
	"INVALID_ARGUMENTS",
	"VALUE_NOT_TRANSFERABLE",
	"RESULT_TOO_LARGE",
	"WRONG_SHAPE",
	"HANDLE_INVALID",
	"HANDLE_REFUSED",
]);

/** Converts a Failure frame to the caller's error. */
export function errorOfFailure(
	failure: FailureFrame,
	call: FailedCall,
): SnakepitError {
	const ran: Ran = failure.began ? "maybe" : "no";
	if (INPUT_CODES.has(failure.code)) {
		const code = failure.code as InputErrorCode;
		const message = `"${call.command}" on worker ${call.workerId}: ${failure.message}`;
		return new InputError({ code, ran, message, path: failure.path });
	}
	if (failure.code === "CANCELLED" && call.cancelled !== undefined)
		return callAborted(call, ran, call.cancelled.reason);
	if (failure.code === "CANCELLED" || failure.code === "LEAVING") {
		return new WorkerLostError({
			code: "WORKER_REPLACED",
			ran,
			message: `"${call.command}" ended on worker ${call.workerId} because that worker is leaving: ${failure.message}`,
		});
	}
	const remote = remoteOf(failure.error) ?? {
		type: "",
		message: failure.message,
	};
	return new ToolError({
		ran,
		message: `"${call.command}" failed on worker ${call.workerId}: ${failure.message}`,
		cause: call.inputError ?? hostErrorOf(remote, call),
		remote,
	});
}

/** Includes its stack, which does not leave this program; only if the tool failed because of it. */
function hostErrorOf(
	remote: RemoteError | { type: string; message: string },
	{ hostError }: FailedCall,
): unknown {
	if (hostError === undefined || remote.type !== HOST_CALL_FAILED)
		return undefined;
	// If several run at the same time, another one may have failed later.
	return remote.message.includes(thrownMessage(hostError.error))
		? hostError.error
		: undefined;
}

/** Converts an abort to the caller's error. */
export function callAborted(
	call: FailedCall,
	ran: Ran,
	reason: unknown,
): CallAbortedError {
	return new CallAbortedError({
		code: "CALL_ABORTED",
		ran,
		message: `"${call.command}" on worker ${call.workerId} was aborted.`,
		cause: reason,
	});
}

/** A call whose signal was aborted before anything was sent. */
export function abortedBefore(
	workerId: string,
	command: string,
	signal: AbortSignal,
): SnakepitError {
	const call = {
		workerId,
		command,
		cancelled: undefined,
		inputError: undefined,
		hostError: undefined,
	};
	return callAborted(call, "no", signal.reason);
}

/** Converts a broken conversation to an error for a caller or the pool. */
export function conversationBroken(
	workerId: string,
	problem: string,
	ran: Ran,
	cause?: unknown,
): ConnectionBrokenError {
	return new ConnectionBrokenError({
		ran,
		message: `The conversation with worker ${workerId} broke: ${problem}`,
		cause,
	});
}

function remoteOf(
	error: PythonErrorRecord | undefined,
): RemoteError | undefined {
	if (error === undefined) return undefined;
	const { type, message, traceback, notes, frames } = error;
	return {
		type,
		message,
		traceback,
		notes,
		frames,
		cause: remoteOf(error.cause),
	};
}

const MAX_TEXT_LENGTH = 65_536;

/** A text for a thrown value that can be sent. Never empty. */
export function thrownText(thrown: unknown): string {
	try {
		return boundedText(String(thrown)) || "an error without a message";
	} catch {
		return "an error that cannot be converted to text";
	}
}

/** The message of a thrown value, or its description. */
export function thrownMessage(thrown: unknown): string {
	return boundedText(messageOf(thrown)) || "an error without a message";
}

/** Text that a frame may carry: without lone surrogates, and of limited length. */
export function boundedText(text: string): string {
	const cut =
		text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
	return cut.toWellFormed();
}
