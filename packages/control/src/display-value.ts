/** How deep a value is shown, and how many entries of each object or array. */
const DEPTH = 8;
const ENTRIES = 1_000;
const UNREADABLE = "a value that cannot be shown";

/**
 * A value as JSON can carry it, for people: an error as its name, code, message and the tool's error, bytes as their
 * number, an integer that JSON cannot carry as text. Not for values that must arrive exactly.
 */
export function displayValue(value: unknown, depth: number = DEPTH): unknown {
	try {
		return readable(value, depth);
	} catch {
		// Reading it runs its own code.
		return UNREADABLE;
	}
}

function readable(value: unknown, depth: number): unknown {
	switch (typeof value) {
		case "string":
		case "boolean":
			return value;
		case "number":
			return Number.isFinite(value) ? value : String(value);
		case "undefined":
			return null;
		case "object":
			break;
		default:
			return String(value);
	}
	if (value === null) return null;
	if (depth === 0) return "…";
	if (value instanceof Error) return displayError(value, depth);
	if (value instanceof Date)
		return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
	if (ArrayBuffer.isView(value)) return `<${value.byteLength} bytes>`;
	if (value instanceof ArrayBuffer) return `<${value.byteLength} bytes>`;
	const inner = (each: unknown): unknown => displayValue(each, depth - 1);
	if (Array.isArray(value)) return value.slice(0, ENTRIES).map(inner);
	if (value instanceof Set) return [...value].slice(0, ENTRIES).map(inner);
	if (value instanceof Map)
		return [...value].slice(0, ENTRIES).map((entry) => entry.map(inner));
	// A date, and a row of a table.
	if ("toJSON" in value && typeof value.toJSON === "function")
		return inner(value.toJSON());
	if (Symbol.iterator in value)
		return firstOf(value as Iterable<unknown>).map(inner);
	const entries = Object.entries(value).slice(0, ENTRIES);
	return Object.fromEntries(entries.map(([name, each]) => [name, inner(each)]));
}

/** The first entries of what need not end, such as the rows of a table. */
function firstOf(value: Iterable<unknown>): unknown[] {
	const first: unknown[] = [];
	for (const each of value) if (first.push(each) === ENTRIES) break;
	return first;
}

/** The part of an error that the client needs. */
export interface DisplayedError {
	readonly name: string;
	readonly code: string;
	readonly message: string;
	/** Whether the work of a call may have begun. */
	readonly ran?: unknown;
	/** The error that a tool raised, as its language describes it. */
	readonly remote?: unknown;
}

export function displayError(
	error: Error,
	depth: number = DEPTH,
): DisplayedError {
	const { code, ran, remote } = error as Error & Record<string, unknown>;
	return {
		name: error.name,
		code: typeof code === "string" ? code : "UNEXPECTED",
		message: error.message,
		...(ran !== undefined && { ran: displayValue(ran, depth - 1) }),
		...(remote !== undefined && { remote: displayValue(remote, depth - 1) }),
	};
}
