/** Reads two's complement, big-endian; no bytes are zero. */
export function bigInteger(bytes: Uint8Array): bigint {
	const value = BigInt(`0x0${Buffer.from(bytes).toString("hex")}`);
	return BigInt.asIntN(bytes.length * 8, value);
}

/** A number where it is exact. */
export function safeWhereItFits(value: bigint): number | bigint {
	const number = Number(value);
	return Number.isSafeInteger(number) ? number : value;
}
