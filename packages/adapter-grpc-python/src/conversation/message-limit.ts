import { InputError } from "@snakepit/core";

/** A message that the limit does not allow: nothing of it was sent. @param bytes left out when only known to be more. */
export function messageTooLarge(
	what: string,
	limit: number,
	bytes?: number,
): InputError {
	return new InputError({
		code: "MESSAGE_TOO_LARGE",
		ran: "no",
		message: `${what}: a message of ${bytes ?? `more than ${limit}`} bytes, and the limit is ${limit} (the adapter's maxMessageBytes). Send less, send a path, send an input stream in parts, or raise the limit.`,
	});
}
