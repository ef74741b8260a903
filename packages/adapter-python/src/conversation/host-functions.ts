import { InputError } from "@snakepit/core";
import type { HostCallFrame, HostFrame } from "../frames/frames.ts";
import { decodeValue } from "../values/decode-value.ts";
import { encodeValue } from "../values/encode-value.ts";
import { boundedText, thrownMessage } from "./call-errors.ts";
import type { OngoingCall } from "./ongoing-call.ts";

/** How many host functions may run for one call. A bridge lets further ones wait in the worker. */
const MOST_OF_CALL = 64;
/** A code is a word or two. */
const MOST_OF_CODE = 200;

/** What a host function gets besides its argument. */
export interface HostFunctionContext {
	/** The call whose tool asks. */
	readonly callId: string;
	/** Aborts when the call ends, or the tool no longer waits. */
	readonly signal: AbortSignal;
}

/** A function of this program that tools may call by its name. Runs in the asynchronous context of the call. */
export type HostFunction = (
	// biome-ignore lint/suspicious/noExplicitAny: what a tool sends is for the function to check
	argument: any,
	context: HostFunctionContext,
) => unknown;

/** Answers the back-calls of one worker. */
export class HostFunctions {
	private readonly functions: ReadonlyMap<string, HostFunction>;
	private readonly send: (message: HostFrame, what: string) => void;
	/** By the worker's number of the host call. */
	readonly running: Map<
		number,
		{ readonly call: OngoingCall; readonly abort: AbortController }
	> = new Map();

	/** @param send throws InputError `MESSAGE_TOO_LARGE` when a frame is. */
	constructor(
		functions: ReadonlyMap<string, HostFunction>,
		send: (message: HostFrame, what: string) => void,
	) {
		this.functions = functions;
		this.send = send;
	}

	/** A tool calls a function. */
	begin(call: OngoingCall, request: HostCallFrame): void {
		if (call.hostCalls >= MOST_OF_CALL) {
			const refusal = failureOf(request.hostCallId, tooMany());
			this.send(refusal, "a failure");
			return;
		}
		const abort = new AbortController();
		this.running.set(request.hostCallId, { call, abort });
		call.hostCalls++;
		void this.answer(call, request, abort.signal);
	}

	/** The tool no longer waits for this one. */
	drop(hostCallId: number): void {
		this.end(hostCallId, "the tool no longer waits for it");
	}

	/** The call is over, and so are its back-calls. */
	callOver(call: OngoingCall): void {
		for (const [id, running] of this.running) {
			if (running.call === call) this.end(id, "its call is over");
		}
	}

	/** Never rejects. */
	private async answer(
		call: OngoingCall,
		request: HostCallFrame,
		signal: AbortSignal,
	): Promise<void> {
		let answer: HostFrame;
		try {
			const invoke = async () => this.invoke(call, request, signal);
			const { backCall, context } = call.options;
			const value = await context.runInAsyncScope(() =>
				backCall === undefined
					? invoke()
					: backCall(
							{
								function: request.function,
								traceContext: request.traceContext,
							},
							invoke,
						),
			);
			// A function that returns nothing answers null: undefined cannot be sent.
			const encoded = encodedResult(value === undefined ? null : value);
			answer = {
				kind: "hostResult",
				hostCallId: request.hostCallId,
				value: encoded,
			};
		} catch (error) {
			call.hostError = { error };
			answer = failureOf(request.hostCallId, error);
		}
		if (!this.running.delete(request.hostCallId)) return;
		call.hostCalls--;
		try {
			this.send(answer, `the result of the host function ${request.function}`);
		} catch (error) {
			this.send(failureOf(request.hostCallId, error), "a failure");
		}
	}

	private invoke(
		call: OngoingCall,
		request: HostCallFrame,
		signal: AbortSignal,
	): unknown {
		const hostFunction = this.functions.get(request.function);
		if (hostFunction === undefined) {
			const known = [...this.functions.keys()].join(", ") || "none";
			throw Object.assign(
				new Error(
					`the host has no function ${JSON.stringify(request.function)}; registered by the adapter's hostFunctions: ${known}`,
				),
				{ code: "FUNCTION_NOT_FOUND" },
			);
		}
		const argument =
			request.argument.length === 0 ? undefined : decodeValue(request.argument);
		return hostFunction(argument, { callId: call.options.callId, signal });
	}

	private end(hostCallId: number, why: string): void {
		const running = this.running.get(hostCallId);
		if (running === undefined) return;
		this.running.delete(hostCallId);
		running.call.hostCalls--;
		const { call, abort } = running;
		// The function listens to it, and the connection that reports the end has a context of its own.
		call.options.context.runInAsyncScope(() =>
			abort.abort(
				new DOMException(`The host call was dropped: ${why}.`, "AbortError"),
			),
		);
	}
}

function tooMany(): Error {
	return Object.assign(
		new Error(
			`a call may have ${MOST_OF_CALL} host functions running at once; wait for an answer first`,
		),
		{ code: "TOO_MANY_HOST_CALLS" },
	);
}

/** @throws InputError whose message says that it is about the result: the tool has sent an argument, too. */
function encodedResult(value: unknown): Uint8Array {
	try {
		return encodeValue(value);
	} catch (cause) {
		if (!(cause instanceof InputError)) throw cause;
		const { code, ran, path, message } = cause;
		throw new InputError({
			code,
			ran,
			path,
			message: `its result: ${message}`,
			cause: cause.cause,
		});
	}
}

/** The code and message of an error; never its stack, which stays in this program. */
function failureOf(hostCallId: number, error: unknown): HostFrame {
	return {
		kind: "hostFailure",
		hostCallId,
		code: codeOf(error),
		message: thrownMessage(error),
	};
}

function codeOf(error: unknown): string {
	try {
		const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
		const text = [code, name].find((each) => typeof each === "string");
		return text === undefined
			? "Error"
			: boundedText((text as string).slice(0, MOST_OF_CODE));
	} catch {
		// Its own code threw.
		return "Error";
	}
}
