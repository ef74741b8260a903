import { expect, test } from "vitest";
import { plainStart } from "../../src/wording/figures.ts";

test("a long text is cut, and says how much is missing", () => {
	expect(plainStart("abcdef", 6)).toBe("abcdef");
	expect(plainStart("x".repeat(5_000), 3)).toBe(
		"xxx … (4,997 more characters)",
	);
});
