/** Escape sequences of terminals: colours, cursor movements, titles, links. */
const ESCAPES =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
	/\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)|\u001b[ -/]*[0-~]/g;
const CONTROLS =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
	/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * The text of a worker for display: without colours and cursor movements, and with other control characters as visible
 * symbols, so that no text is hidden or reversed. Line breaks and tabs stay.
 */
export function plainText(text: string): string {
	return text.replace(ESCAPES, "").replace(CONTROLS, (character) => {
		const code = character.charCodeAt(0);
		if (code < 0x20) return String.fromCharCode(0x2400 + code);
		if (code === 0x7f) return "\u2421";
		return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
	});
}

/** Colours and other styles: they change how text looks, and nothing else. */
const STYLE =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
	/(\u001b\[[0-9;:]*m)/;
const RESET = "\u001b[0m";

/**
 * Text of a worker for a terminal: its colours stay. Anything else that a terminal would carry out, as a new title, what
 * is in the clipboard or where the next text appears, is removed or made visible.
 */
export function terminalText(text: string): string {
	const parts = text.split(STYLE);
	if (parts.length === 1) return plainText(text);
	const shown = parts.map((part, index) =>
		index % 2 === 0 ? plainText(part) : part,
	);
	return `${shown.join("")}${RESET}`;
}

/** What the last lines of a process begin with, as a paragraph at the end of a message. */
export const LAST_LINES = "\nIts last lines:\n";

/** An error message without the paragraph of last lines at its end. */
export function withoutLastLines(message: string): string {
	const [text = ""] = message.split(LAST_LINES, 1);
	return text;
}

/** "1 run", "2 runs". */
export function counted(count: number, one: string, many: string): string {
	return `${count} ${count === 1 ? one : many}`;
}

/** What some readers of lines take for the end of a line, as Node's `readline` and Python's `str.splitlines` do. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/**
 * Writes a value as JSON on one line, whatever its reader takes for the end of a line. The line has no end of its own.
 *
 * @throws TypeError the value cannot be JSON.
 */
export function jsonLine(value: unknown): string {
	const text: string | undefined = JSON.stringify(value);
	if (text === undefined)
		throw new TypeError(`A value of type ${typeof value} cannot be JSON.`);
	return text.replace(
		LINE_ENDS,
		(end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}
