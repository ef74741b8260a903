/** As much as a small frame has, roughly in bytes. A call that is taken back is encoded again. */
const MOST = 4096;
/** What a value takes besides its text or its bytes. */
const EACH = 8;

/** Whether arguments are small. Looks at a bounded number of values, whatever their size. */
export function isSmall(args: unknown): boolean {
	return left(args, MOST) >= 0;
}

/** What is left of the allowance after a value; negative when that is too large. */
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
	// Of other classes only the caller's encoder knows the size.
	if (Object.getPrototypeOf(value) !== Object.prototype) return -1;
	for (const key in value) {
		rest = left((value as Record<string, unknown>)[key], rest - key.length);
		if (rest < 0) return rest;
	}
	return rest;
}
