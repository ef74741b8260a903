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
} from "@snakepit/core/adapter";
import { type Failure, FailureKind, type PythonError } from "../gen/bridge.ts";
import { thrownMessage } from "./thrown-text.ts";

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

const INPUT_CODES: Partial<Record<FailureKind, InputErrorCode>> = {
	[FailureKind.FAILURE_KIND_TOOL_NOT_FOUND]: "TOOL_NOT_FOUND",
	[FailureKind.FAILURE_KIND_INVALID_ARGUMENTS]: "INVALID_ARGUMENTS",
	[FailureKind.FAILURE_KIND_VALUE_NOT_TRANSFERABLE]: "VALUE_NOT_TRANSFERABLE",
	[FailureKind.FAILURE_KIND_RESULT_TOO_LARGE]: "RESULT_TOO_LARGE",
	[FailureKind.FAILURE_KIND_WRONG_SHAPE]: "WRONG_SHAPE",
	[FailureKind.FAILURE_KIND_HANDLE_INVALID]: "HANDLE_INVALID",
	[FailureKind.FAILURE_KIND_HANDLE_REFUSED]: "HANDLE_REFUSED",
};

/** Converts a Failure frame to the caller's error. */
export function errorOfFailure(
	failure: Failure,
	call: FailedCall,
): SnakepitError {
	const ran: Ran = failure.began ? "maybe" : "no";
	const code = INPUT_CODES[failure.kind];
	if (code !== undefined) {
		const message = `"${call.command}" on worker ${call.workerId}: ${failure.message}`;
		return new InputError({ code, ran, message, path: failure.path });
	}
	if (
		failure.kind === FailureKind.FAILURE_KIND_CANCELLED &&
		call.cancelled !== undefined
	) {
		return callAborted(call, ran, call.cancelled.reason);
	}
	if (
		failure.kind === FailureKind.FAILURE_KIND_CANCELLED ||
		failure.kind === FailureKind.FAILURE_KIND_LEAVING
	) {
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

function remoteOf(error: PythonError | undefined): RemoteError | undefined {
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
