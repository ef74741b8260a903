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
