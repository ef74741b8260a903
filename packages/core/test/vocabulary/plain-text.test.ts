import { expect, test } from "vitest";
import { plainText, terminalText } from "../../src/contract/text.ts";

test.each([
	["plain text\n\tindented", "plain text\n\tindented"],
	["\x1b[31mred\x1b[0m and \x1b[1;4mbold\x1b[m", "red and bold"],
	["\x1b]0;a title\x07text\x1b]8;;http://x\x1b\\link", "textlink"],
	["\x1b[2J\x1b[1;1Hcleared", "cleared"],
	["back\bspace and \rreturn", "back␈space and ␍return"],
	["an escape alone: \x1b", "an escape alone: ␛"],
	["nul \0 and del \x7f", "nul ␀ and del ␡"],
	["\u202eturned\u202c", "<U+202E>turned<U+202C>"],
	["\x9b31m", "<U+009B>31m"],
])("%j is shown as %j", (text, shown) => {
	expect(plainText(text)).toBe(shown);
});

test("a text made to be slow is not", () => {
	const start = performance.now();
	plainText("\x1b]".repeat(50_000) + "\x1b[".repeat(50_000));
	terminalText("\x1b[1m\x1b]".repeat(50_000));
	expect(performance.now() - start).toBeLessThan(5_000);
});
