import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { codeOf } from "./source-imports.ts";

const ROOT = join(import.meta.dirname, "../../../..");

/** Who may know the executable of this program: it may be the program itself, which would start itself without end. */
const MAY_NAME_IT: readonly string[] = [
	// Says whether it is Node.
	"packages/core/src/os/this-program.ts",
	// Proves that something is Node, and starts it.
	"packages/watchdog/src/watchdog/watchdog-process.ts",
];

test("nothing in a package starts this program's executable as Node, unless it is proven to be Node", () => {
	const naming = globSync("packages/*/src/**/*.ts", { cwd: ROOT }).filter(
		(file) => /\bexecPath\b|\bargv0\b|\bargv\[0\]/.test(codeOf(ROOT, file)),
	);
	expect(naming.toSorted()).toEqual(MAY_NAME_IT);
});
