import { endianness } from "node:os";

const swapped = endianness() === "BE";

/**
 * Turns numbers between this machine's order and little-endian; its own inverse.
 * Returns the bytes themselves where there is nothing to do.
 */
export function littleEndian(bytes: Uint8Array, size: number): Uint8Array {
	return swapped && size > 1 ? reversedBySize(bytes, size) : bytes;
}

/** A copy in which every `size` bytes stand in reverse. */
export function reversedBySize(bytes: Uint8Array, size: number): Uint8Array {
	const copy = new Uint8Array(bytes.byteLength);
	for (let start = 0; start < bytes.byteLength; start += size) {
		for (let i = 0; i < size; i++)
			copy[start + i] = bytes[start + size - 1 - i] ?? 0;
	}
	return copy;
}
