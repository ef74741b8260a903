import { randomFillSync } from "node:crypto";

/** Hexadecimal digits of a trace and of a span. */
const TRACE = 32;
const SPAN = 16;
/** Random bytes are made so many at once: for each id by itself, that would take longer than the rest of a span. */
const RANDOM_BYTES = 32_768;
/** The ids of so many spans are parts of one text, which lives as long as one of them. */
const TOGETHER = 64;

let random = Buffer.alloc(0);
let usedBytes = 0;

/** Valid until it is called again. */
function randomBytes(count: number): Buffer {
	if (random.length === 0) random = Buffer.alloc(RANDOM_BYTES);
	if (usedBytes === 0 || usedBytes + count > RANDOM_BYTES) {
		randomFillSync(random);
		usedBytes = 0;
	}
	usedBytes += count;
	return random.subarray(usedBytes - count, usedBytes);
}

let digits = "";
let usedDigits = 0;

export function newTraceId(): string {
	return take(TRACE);
}

export function newSpanId(): string {
	return take(SPAN);
}

function take(count: number): string {
	if (usedDigits + count > digits.length) {
		digits = randomBytes(((TRACE + SPAN) / 2) * TOGETHER).toString("hex");
		usedDigits = 0;
	}
	usedDigits += count;
	return digits.slice(usedDigits - count, usedDigits);
}

/** Where the ids are in a `traceparent`: its version is before them, and its flags behind. */
const TRACE_AT = 3;
const SPAN_AT = TRACE_AT + TRACE + 1;
const TRACEPARENT = SPAN_AT + SPAN + 3;

let headers = "";
let usedOfHeaders = 0;

/**
 * The W3C header of a new trace, which is sampled. Its ids are parts of one text: to join them for each call, and to
 * write what is joined, takes several times as long.
 */
export function newTraceparent(): string {
	if (usedOfHeaders === headers.length) {
		headers = traceparents();
		usedOfHeaders = 0;
	}
	usedOfHeaders += TRACEPARENT;
	return headers.slice(usedOfHeaders - TRACEPARENT, usedOfHeaders);
}

export function traceIdIn(traceparent: string): string {
	return traceparent.slice(TRACE_AT, TRACE_AT + TRACE);
}

export function spanIdIn(traceparent: string): string {
	return traceparent.slice(SPAN_AT, SPAN_AT + SPAN);
}

const HEX = Buffer.from("0123456789abcdef");
/** Is written over each time. */
const text = Buffer.alloc(
	TRACEPARENT * TOGETHER,
	`00-${"0".repeat(TRACE)}-${"0".repeat(SPAN)}-01`,
);

function traceparents(): string {
	const bytes = randomBytes(((TRACE + SPAN) / 2) * TOGETHER);
	let from = 0;
	for (let at = 0; at < text.length; at += TRACEPARENT) {
		writeHex(at + TRACE_AT, TRACE, bytes, from);
		writeHex(at + SPAN_AT, SPAN, bytes, from + TRACE / 2);
		from += (TRACE + SPAN) / 2;
	}
	return text.toString("latin1");
}

function writeHex(
	at: number,
	count: number,
	bytes: Buffer,
	from: number,
): void {
	for (let index = 0; index < count / 2; index++) {
		const byte = bytes[from + index] as number;
		text[at + 2 * index] = HEX[byte >> 4] as number;
		text[at + 2 * index + 1] = HEX[byte & 15] as number;
	}
}
