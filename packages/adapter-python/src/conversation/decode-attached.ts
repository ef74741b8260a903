import { InputError } from "@snakepit/core";
import { decodeValue } from "../values/decode-value.ts";

/** Reads a value with its attachment. @throws InputError `VALUE_NOT_TRANSFERABLE` when it is no value. */
export function decodeAttached(
	value: Uint8Array,
	read: () => Uint8Array,
): unknown {
	try {
		return decodeValue(value, read());
	} catch (cause) {
		if (cause instanceof InputError) throw cause;
		throw new InputError({
			code: "VALUE_NOT_TRANSFERABLE",
			ran: "maybe",
			message: `The value came with ${(cause as Error).message}.`,
			path: "$",
			cause,
		});
	}
}
