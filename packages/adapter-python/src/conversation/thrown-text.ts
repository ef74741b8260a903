import { messageOf } from "@snakepit/core/adapter";

const MAX_TEXT_LENGTH = 65_536;

/** A text for a thrown value that can be sent. Never empty. */
export function thrownText(thrown: unknown): string {
	try {
		return boundedText(String(thrown)) || "an error without a message";
	} catch {
		return "an error that cannot be converted to text";
	}
}

/** The message of a thrown value, or its description. */
export function thrownMessage(thrown: unknown): string {
	return boundedText(messageOf(thrown)) || "an error without a message";
}

/** Text that a frame may carry: without lone surrogates, and of limited length. */
export function boundedText(text: string): string {
	const cut =
		text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
	return cut.toWellFormed();
}
