import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isUint8Array } from "node:util/types";
import type { JobInput } from "./job-options.ts";

/**
 * Writes the input of a job to its program, as fast as that reads, and closes it.
 * A program that stops reading, or ends, ends the input: that is no error.
 *
 * @param onFailed called with what the input threw. Not after the input was released.
 */
export function writeInput(
	input: JobInput,
	stdin: Writable,
	onFailed: (error: unknown) => void,
): void {
	async function* pieces(): AsyncGenerator<string | Uint8Array> {
		try {
			if (isPiece(input)) yield input;
			else for await (const piece of input) yield checked(piece);
		} catch (error) {
			onFailed(error);
			throw error;
		}
	}
	pipeline(pieces, stdin).catch(() => {}); // The end of the program, or what onFailed was called with.
}

function isPiece(value: unknown): value is string | Uint8Array {
	return typeof value === "string" || isUint8Array(value);
}

function checked(piece: unknown): string | Uint8Array {
	if (isPiece(piece)) return piece;
	throw new TypeError(
		`The input of a job must consist of strings and bytes (Uint8Array), got ${piece === null ? "null" : typeof piece}.`,
	);
}
