import { messageOf } from "@snakepit/core/adapter";

const MAX_TEXT_LENGTH = 65_536;

/** What was thrown, in words that can cross. Never empty. */
export function thrownText(thrown: unknown): string {
	try {
		return boundedText(String(thrown)) || "an error without a message";
	} catch {
		return "an error that cannot be converted to text";
	}
}

/** The message of what was thrown, or it in words. */
export function thrownMessage(thrown: unknown): string {
	return boundedText(messageOf(thrown)) || "an error without a message";
}

/** Text as a frame may carry it: no lone surrogates, and not without end. */
export function boundedText(text: string): string {
	const cut =
		text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
	return cut.toWellFormed();
}
