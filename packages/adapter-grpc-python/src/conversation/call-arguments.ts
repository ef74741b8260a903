import { InputError } from "@snakepit/core";
import type { AttachmentSink } from "../shared-memory/attachment.ts";
import { encodeValue } from "../values/encode-value.ts";
import { describe } from "../values/no-image.ts";
import { messageTooLarge } from "./message-limit.ts";

const NONE = new Uint8Array();

/**
 * The arguments of a call as their image: an object for keyword arguments, an array for positional ones.
 *
 * @throws InputError `INVALID_ARGUMENTS` when it is neither, `VALUE_NOT_TRANSFERABLE`, `MESSAGE_TOO_LARGE`.
 */
export function encodeArguments(
	command: string,
	args: unknown,
	maxBytes: number,
	attachment?: AttachmentSink,
): Uint8Array {
	if (args === undefined) return NONE;
	if (typeof args !== "object" || args === null) {
		throw new InputError({
			code: "INVALID_ARGUMENTS",
			ran: "no",
			message: `"${command}" was called with ${describe(args)}: arguments are an object (by name) or an array (by position). For one argument write [value].`,
			path: "$",
		});
	}
	try {
		return encodeValue(args, { maxBytes, attachment });
	} catch (error) {
		if (!(error instanceof InputError)) throw error;
		const what = `The arguments of "${command}"`;
		if (error.code === "MESSAGE_TOO_LARGE")
			throw messageTooLarge(what, maxBytes);
		const { code, ran, path } = error;
		throw new InputError({
			code,
			ran,
			path,
			message: `${what}: ${error.message}`,
		});
	}
}
