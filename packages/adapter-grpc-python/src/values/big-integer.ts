const LEAST_LONG = -(2n ** 63n);
const MOST_LONG = 2n ** 64n - 1n;

/** Whether MessagePack's own integers hold the value. */
export function fitsLong(value: bigint): boolean {
	return value >= LEAST_LONG && value <= MOST_LONG;
}

/** The shortest two's complement, big-endian. */
export function bigIntegerBytes(value: bigint): Uint8Array {
	const negative = value < 0n;
	// The bits of a negative number are those of its complement, inverted.
	const hex = (negative ? ~value : value).toString(16);
	const even = hex.length % 2 === 0 ? hex : `0${hex}`;
	const magnitude = Buffer.from(
		(even.codePointAt(0) ?? 0) >= EIGHT ? `00${even}` : even,
		"hex",
	);
	if (negative)
		for (let i = 0; i < magnitude.length; i++)
			magnitude[i] = ~(magnitude[i] ?? 0);
	return magnitude;
}

/** Reads two's complement, big-endian; nothing is zero. */
export function bigIntegerFrom(bytes: Uint8Array): bigint {
	if (bytes.length === 0) return 0n;
	const magnitude = Buffer.from(bytes);
	const negative = (magnitude[0] ?? 0) >= 0x80;
	if (negative)
		for (let i = 0; i < magnitude.length; i++)
			magnitude[i] = ~(magnitude[i] ?? 0);
	const value = BigInt(`0x${magnitude.toString("hex")}`);
	return negative ? ~value : value;
}

/** Hexadecimal digits from `8` on have the sign bit set; letters come after them. */
const EIGHT = 0x38;
