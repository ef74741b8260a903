import { type CallOptions, NOT_SAMPLED } from "@snakepit/core/adapter";
import type { Envelope } from "../values/encode-value.ts";
import { CALL, RESULT, UNRECORDED_CALL } from "./frame-codec.ts";

/**
 * Usual calls and their results as MessagePack of one layout (docs/bridge-protocol.md, section 3), which is written and
 * read without the codec: that would take longer than a small tool runs.
 */

const UINT_32 = 0xce;
const BIN_32 = 0xc6;
/** Array, kind, number of the call, and size of the arguments, which follow it. */
const CALL_HEAD_BYTES = 12;
const RESULT_CALL_AT = 3;
const RESULT_BEGAN_AT = 8;
const RESULT_RAN_AT = 13;
const RESULT_SIZE_AT = 18;
/** Array, kind, number of the call, when it began, how long it ran, and size of the value, which follows it. */
export const RESULT_HEAD_BYTES = 22;
/** Leaves room for the calls that getters in the arguments make. */
const HIGHEST_NUMBER = 2 ** 32 - 2 ** 16;
/** The fields that a call may have besides its arguments. */
export type CallFields = Pick<
	CallOptions,
	| "timeoutMs"
	| "sessionId"
	| "session"
	| "input"
	| "onProgress"
	| "traceContext"
>;

/** Before the `traceparent` of a call: the name of its trace context, a map of one entry, and the name of that. */
const TRACED: Uint8Array = Buffer.concat([
	Buffer.from([0xa0 + 13]),
	Buffer.from("trace_context"),
	Buffer.from([0x81, 0xa0 + 11]),
	Buffer.from("traceparent"),
]);

/**
 * What is around the arguments of a usual call: its head, its tool, and a map of what else it has. `undefined` for an
 * unusual call.
 *
 * @param calls asked for the number when all else is written: a getter in it may have made a call.
 */
export function callEnvelope(
	calls: { readonly lastCall: number },
	tool: string,
	fields: CallFields,
): Envelope | undefined {
	const { timeoutMs, sessionId, session, input, onProgress, traceContext } =
		fields;
	if (input !== undefined || onProgress !== undefined) return undefined;
	if (calls.lastCall >= HIGHEST_NUMBER) return undefined;
	const allowsHandles =
		sessionId !== undefined && session?.affinity === "strict";
	let entries = timeoutMs === undefined ? 0 : 1;
	if (sessionId !== undefined) entries += allowsHandles ? 2 : 1;
	const isUnrecorded = traceContext[NOT_SAMPLED] === true;
	if (!isUnrecorded)
		for (const name in traceContext) {
			if (name !== "traceparent") return undefined;
			entries++;
		}
	return {
		headBytes: CALL_HEAD_BYTES,
		write(writer) {
			const argumentBytes = writer.length - CALL_HEAD_BYTES;
			writer.text(tool.toWellFormed());
			if (entries > 0) writer.mapHeader(entries);
			if (timeoutMs !== undefined) {
				writer.text("timeout_ms");
				writer.integer(wholeMs(timeoutMs));
			}
			if (sessionId !== undefined) {
				writer.text("session_id");
				writer.text(sessionId.toWellFormed());
			}
			if (allowsHandles) {
				writer.text("allows_handles");
				writer.boolean(true);
			}
			if (!isUnrecorded && traceContext["traceparent"] !== undefined) {
				writer.raw(TRACED);
				writer.text(traceContext["traceparent"]);
			}
			const { bytes } = writer;
			bytes[0] = entries === 0 ? 0x94 : 0x95;
			bytes[1] = isUnrecorded ? UNRECORDED_CALL : CALL;
			bytes[2] = UINT_32;
			bytes.writeUInt32BE(calls.lastCall + 1, 3);
			bytes[7] = BIN_32;
			bytes.writeUInt32BE(argumentBytes, 8);
		},
	};
}

/** The arguments in a call of this layout. */
export function argumentsIn(call: Uint8Array): Uint8Array {
	const size = unsigned(call, CALL_HEAD_BYTES - 4);
	return call.subarray(CALL_HEAD_BYTES, CALL_HEAD_BYTES + size);
}

/** The rest of a deadline, in the form of the frame. */
export function wholeMs(timeoutMs: number): number {
	return Math.max(1, Math.round(timeoutMs));
}

/** The head of a result of this layout. */
export interface PackedResult {
	readonly callId: number;
	/** When the call began, in microseconds modulo 2^32. */
	readonly beganUs: number;
	readonly ranUs: number;
}

/** Reads the head of a result of this layout, whose value follows it; `undefined` for any other frame. */
export function packedResult(
	bytes: Uint8Array,
	begin: number,
	end: number,
): PackedResult | undefined {
	const isPacked =
		bytes[begin] === 0x95 &&
		bytes[begin + 1] === RESULT &&
		bytes[begin + 2] === UINT_32 &&
		bytes[begin + 7] === UINT_32 &&
		bytes[begin + 12] === UINT_32 &&
		bytes[begin + 17] === BIN_32 &&
		end - begin > RESULT_HEAD_BYTES &&
		unsigned(bytes, begin + RESULT_SIZE_AT) === end - begin - RESULT_HEAD_BYTES;
	return isPacked
		? {
				callId: unsigned(bytes, begin + RESULT_CALL_AT),
				beganUs: unsigned(bytes, begin + RESULT_BEGAN_AT),
				ranUs: unsigned(bytes, begin + RESULT_RAN_AT),
			}
		: undefined;
}

/** How long ago a call began. @param nowUs on the clock of {@link monotonicUs}. */
export function agoMs(beganUs: number, nowUs: number): number {
	// The frame has the lower half of the clock's value, which is enough for an hour.
	return ((nowUs - beganUs) >>> 0) / 1000;
}

/** The clock that all processes of a machine share, in whole microseconds modulo 2^32. */
export function monotonicUs(): number {
	const [seconds, nanoseconds] = process.hrtime();
	return (seconds * 1_000_000 + Math.floor(nanoseconds / 1000)) % 2 ** 32;
}

function unsigned(bytes: Uint8Array, at: number): number {
	return (
		(bytes[at] as number) * 2 ** 24 +
		((bytes[at + 1] as number) << 16) +
		((bytes[at + 2] as number) << 8) +
		(bytes[at + 3] as number)
	);
}
