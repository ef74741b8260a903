import { expect, test } from "vitest";
import { displayValue } from "../src/display-value.ts";

const UNREADABLE = "a value that cannot be shown";

function refuses(): never {
	throw new Error("its own code throws");
}

test("a part that throws when it is read is named, and the others are shown", () => {
	const error = new Error("never read");
	Object.defineProperty(error, "message", { get: refuses });
	const value = {
		plain: 1,
		json: { toJSON: refuses },
		rows: { [Symbol.iterator]: refuses },
		nested: [
			{
				get field() {
					return refuses();
				},
			},
			2,
		],
		error,
	};
	expect(displayValue(value)).toEqual({
		plain: 1,
		json: UNREADABLE,
		rows: UNREADABLE,
		nested: [UNREADABLE, 2],
		error: UNREADABLE,
	});
});

test("a value that contains itself ends after a few levels", () => {
	const value: unknown[] = [];
	value.push(value);
	expect(JSON.stringify(displayValue(value))).toBe(
		`${"[".repeat(8)}"…"${"]".repeat(8)}`,
	);
});
