import { LENT_BYTES } from "../channel/frame-channel.ts";
import { NdArray } from "../values/nd-array.ts";

/** As much as a small frame has, roughly in bytes. A call that is taken back is encoded again. */
const MOST = LENT_BYTES;
/** What a value takes besides its text or its bytes. */
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
	if (value instanceof Date) return rest - INSTANT;
	// Of other classes only the caller's encoder knows the size.
	return -1;
}
