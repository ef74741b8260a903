import { randomBytes } from "node:crypto";

/** Hexadecimal digits of a trace and of a span. */
const TRACE = 32;
const SPAN = 16;
/** Creating random bytes for each id would take longer than the rest of a call's headers. */
const BLOCK_BYTES = 24 * 256;

let digits = "";
let used = 0;

export function newTraceId(): string {
	return take(TRACE);
}

export function newSpanId(): string {
	return take(SPAN);
}

function take(count: number): string {
	if (used + count > digits.length) {
		digits = randomBytes(BLOCK_BYTES).toString("hex");
		used = 0;
	}
	used += count;
	return digits.slice(used - count, used);
}
