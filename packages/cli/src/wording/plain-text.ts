import { plainText } from "@snakepit/core/text";
import { whole } from "./figures.ts";

export { plainText };

/** The start of such a text, with the number of missing characters. */
export function plainStart(text: string, characters: number): string {
	const start = plainText(text.slice(0, characters));
	const missing = text.length - characters;
	return missing > 0 ? `${start} … (${whole(missing)} more characters)` : start;
}
