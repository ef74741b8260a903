import { type CallOptions, NOT_SAMPLED } from "@snakepit/core/adapter";

/**
 * The frames of the commonest calls, laid out by hand (docs/bridge-protocol.md, section 3): protobuf needs longer to
 * write and read one than a small tool runs.
 */

/** The first byte of a compact frame. No protobuf message begins with it: there, no field has the number 0. */
export const COMPACT = 0;
/** The mark, the number of the call, the length of the tool's name, and which fields follow the name. */
const CALL_HEAD_BYTES = 7;
const TIMEOUT = 1;
const SESSION = 2;
const TRACEPARENT = 4;
const MAY_HOLD = 8;
const UNRECORDED = 16;
const LONGEST_TEXT = 255;
/** Leaves room for the calls that getters in the arguments make. */
const HIGHEST_NUMBER = 2 ** 32 - 2 ** 16;
/** Of a result: the mark, the number of the call, when it began, and how long it ran in microseconds. */
export const RESULT_HEAD_BYTES = 13;
export const RESULT_CALL_AT = 1;
const RESULT_BEGAN_AT = 5;
export const RESULT_RAN_AT = 9;

/** The fields that a call may have besides its arguments. */
export type CompactFields = Pick<
	CallOptions,
	| "timeoutMs"
	| "sessionId"
	| "session"
	| "input"
	| "onProgress"
	| "traceContext"
>;

/** How many bytes precede the arguments of a call in its compact frame; `undefined` if it cannot be compact. */
export function compactCallHead(
	number: number,
	tool: string,
	{ timeoutMs, sessionId, input, onProgress, traceContext }: CompactFields,
): number | undefined {
	// Rare fields are left to protobuf.
	if (input !== undefined || onProgress !== undefined) return undefined;
	if (number > HIGHEST_NUMBER || !fits(tool)) return undefined;
	let bytes = CALL_HEAD_BYTES + tool.length;
	if (timeoutMs !== undefined) bytes += 4;
	if (sessionId !== undefined) {
		if (!fits(sessionId)) return undefined;
		bytes += 1 + sessionId.length;
	}
	if (traceContext[NOT_SAMPLED]) return bytes;
	for (const name in traceContext) {
		const header = traceContext[name] as string;
		if (name !== "traceparent" || !fits(header)) return undefined;
		bytes += 1 + header.length;
	}
	return bytes;
}

/** Writes the bytes before the arguments of a call. */
export function writeCompactCall(
	into: Uint8Array,
	number: number,
	tool: string,
	{ timeoutMs, sessionId, session, traceContext }: CompactFields,
): void {
	const isSampled = !traceContext[NOT_SAMPLED];
	const traceparent = isSampled ? traceContext["traceparent"] : undefined;
	into[0] = COMPACT;
	writeUnsigned(into, 1, number);
	into[5] = tool.length;
	into[6] =
		(timeoutMs === undefined ? 0 : TIMEOUT) |
		(sessionId === undefined ? 0 : SESSION) |
		(traceparent === undefined ? 0 : TRACEPARENT) |
		(session?.affinity === "strict" ? MAY_HOLD : 0) |
		(isSampled ? 0 : UNRECORDED);
	let at = writeText(into, CALL_HEAD_BYTES, tool);
	if (timeoutMs !== undefined) {
		writeUnsigned(into, at, wholeMs(timeoutMs));
		at += 4;
	}
	if (sessionId !== undefined) at = writeField(into, at, sessionId);
	if (traceparent !== undefined) writeField(into, at, traceparent);
}

/** The rest of a deadline, in the form of the frame. */
export function wholeMs(timeoutMs: number): number {
	return Math.max(1, Math.round(timeoutMs));
}

/** Whether a text is ASCII and short. */
function fits(text: string): boolean {
	const { length } = text;
	if (length > LONGEST_TEXT) return false;
	for (let i = 0; i < length; i++) if (text.charCodeAt(i) > 0x7f) return false;
	return true;
}

/** Writes a text after its length; returns the position after it. */
function writeField(into: Uint8Array, at: number, text: string): number {
	into[at] = text.length;
	return writeText(into, at + 1, text);
}

/** Returns the position after it. */
function writeText(into: Uint8Array, begin: number, text: string): number {
	for (let i = 0; i < text.length; i++) into[begin + i] = text.charCodeAt(i);
	return begin + text.length;
}

function writeUnsigned(into: Uint8Array, at: number, value: number): void {
	into[at] = value >>> 24;
	into[at + 1] = value >>> 16;
	into[at + 2] = value >>> 8;
	into[at + 3] = value;
}

/** How long ago the call of a compact result began. The head must have arrived. @param nowUs on the clock of {@link monotonicUs}. */
export function beganAgoMs(
	bytes: Uint8Array,
	begin: number,
	nowUs: number,
): number {
	// The frame has the lower half of the clock's value, which is enough for an hour.
	return ((nowUs - unsigned(bytes, begin + RESULT_BEGAN_AT)) >>> 0) / 1000;
}

/** The clock that all processes of a machine share, in whole microseconds modulo 2^32. */
export function monotonicUs(): number {
	const [seconds, nanoseconds] = process.hrtime();
	return (seconds * 1_000_000 + Math.floor(nanoseconds / 1000)) % 2 ** 32;
}

/** Reads a field of the head of a compact result. */
export function unsigned(bytes: Uint8Array, at: number): number {
	return (
		(bytes[at] as number) * 2 ** 24 +
		((bytes[at + 1] as number) << 16) +
		((bytes[at + 2] as number) << 8) +
		(bytes[at + 3] as number)
	);
}
