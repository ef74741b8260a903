import { isDate } from "node:util/types";
import { LENT_BYTES } from "../channel/frame-channel.ts";
import { NdArray } from "../values/nd-array.ts";

/** About the bytes of a small frame. A call that is taken back is encoded again. */
const MOST = LENT_BYTES;
/** The size of a value besides its text or bytes. */
const EACH = 8;
/** What one takes that has no parts and is not plain, such as a date. */
const INSTANT = 24;

/** Whether arguments are small. Examines a bounded number of values, whatever their size. */
export function isSmall(args: unknown): boolean {
	return left(args, MOST) >= 0;
}

/** The rest of the allowance after a value; negative if the value is too large. */
function left(value: unknown, allowance: number): number {
	let rest = allowance - EACH;
	if (typeof value === "string") return rest - value.length;
	if (typeof value !== "object" || value === null) return rest;
	if (Array.isArray(value)) {
		if (value.length * EACH > rest) return -1;
		for (const item of value) {
			rest = left(item, rest);
			if (rest < 0) return rest;
		}
		return rest;
	}
	if (Object.getPrototypeOf(value) !== Object.prototype)
		return leftAfterClass(value, rest);
	for (const key in value) {
		rest = left((value as Record<string, unknown>)[key], rest - key.length);
		if (rest < 0) return rest;
	}
	return rest;
}

function leftAfterClass(value: object, rest: number): number {
	if (ArrayBuffer.isView(value)) return rest - value.byteLength;
	if (value instanceof NdArray) return rest - value.data.byteLength;
	if (isDate(value)) return rest - INSTANT;
	// Only the caller's encoder knows the size of other classes.
	return -1;
}
