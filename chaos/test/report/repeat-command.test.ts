import { expect, test } from "vitest";
import { repeatCommand } from "../../src/report/repeat-command.ts";

test("the command of a run can be typed again: words with spaces are quoted", () => {
	expect(
		repeatCommand([
			...["--only", "floods 1 GB", "--only", "Python's lock"],
			...["--json", "a b.json", "--rounds", "8"],
		]),
	).toBe(
		`npx pnpm@12 chaos --only 'floods 1 GB' --only 'Python'\\''s lock' --rounds 8`,
	);
});
