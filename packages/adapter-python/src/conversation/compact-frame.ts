/**
 * The frames of the commonest calls, laid out by hand (docs/bridge-protocol.md, section 3): protobuf takes longer to
 * write and to read one than a small tool runs.
 */

/** The first byte of a compact frame. No protobuf message begins with it: there, no field has the number 0. */
const COMPACT = 0;
/** The mark, the number of the call, and the length of the tool's name, which follows. */
const CALL_HEAD_BYTES = 6;
const LONGEST_NAME = 255;
/** With room for the calls that getters in the arguments make. */
const HIGHEST_NUMBER = 2 ** 32 - 2 ** 16;
/** Of a result: the mark, the number of the call, and how long it ran. */
export const RESULT_HEAD_BYTES = 9;

/** How many bytes precede the arguments of a call in its compact frame; `undefined` when it cannot have one. */
export function compactCallHead(
	number: number,
	tool: string,
): number | undefined {
	const { length } = tool;
	if (length > LONGEST_NAME || number > HIGHEST_NUMBER) return undefined;
	for (let i = 0; i < length; i++)
		if (tool.charCodeAt(i) > 0x7f) return undefined;
	return CALL_HEAD_BYTES + length;
}

/** Writes what precedes the arguments of a call. */
export function writeCompactCall(
	into: Uint8Array,
	number: number,
	tool: string,
): void {
	into[0] = COMPACT;
	into[1] = number >>> 24;
	into[2] = number >>> 16;
	into[3] = number >>> 8;
	into[4] = number;
	into[5] = tool.length;
	for (let i = 0; i < tool.length; i++)
		into[CALL_HEAD_BYTES + i] = tool.charCodeAt(i);
}

/** Whether a frame of the worker is a compact result, as its first byte says. */
export function isCompact(bytes: Uint8Array, begin: number): boolean {
	return bytes[begin] === COMPACT;
}

/** The number of the call that a compact result is about. Its head is there. */
export function callOfCompactResult(bytes: Uint8Array, begin: number): number {
	return unsigned(bytes, begin + 1);
}

/** How long the call of a compact result ran. Its head is there. */
export function microsecondsOfCompactResult(
	bytes: Uint8Array,
	begin: number,
): number {
	return unsigned(bytes, begin + 5);
}

function unsigned(bytes: Uint8Array, at: number): number {
	return (
		(bytes[at] as number) * 2 ** 24 +
		((bytes[at + 1] as number) << 16) +
		((bytes[at + 2] as number) << 8) +
		(bytes[at + 3] as number)
	);
}
