import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import {
	TEST_WORKERS,
	testWorkers,
	testWorkersEnv,
} from "../../../../scripts/test-workers.ts";
import { resolveOptions } from "../../src/resolve-options.ts";

const IMPORTED = { modules: [], tools: "imported" };

test("tests have the workers that SNAKEPIT_TEST_WORKERS chooses", () => {
	const { preload } = testWorkers();
	expect(resolveOptions({ tools: "a.py" }).preload).toEqual(
		preload ? IMPORTED : "auto",
	);
});

const print = `
	import { resolveOptions } from "${new URL("../../src/resolve-options.ts", import.meta.url)}";
	const { preload } = resolveOptions({ tools: "a.py" });
	console.log(JSON.stringify(preload));
`;

test.each([
	["", "auto"],
	["preloaded", IMPORTED],
])('and so do programs that they start: "%s"', (chosen, expected) => {
	const printed = execFileSync(
		process.execPath,
		["--conditions=snakepit-source", "--input-type=module", "--eval", print],
		{
			env: {
				...process.env,
				...testWorkersEnv(chosen),
				[TEST_WORKERS]: chosen,
			},
			encoding: "utf8",
		},
	);
	expect(JSON.parse(printed)).toEqual(expected);
});

test("what is none of the ways is refused", () => {
	expect(() => testWorkers("framed")).toThrow("preloaded or not set");
});
