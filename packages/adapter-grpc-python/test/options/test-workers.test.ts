import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import {
	TEST_WORKERS,
	testWorkers,
	testWorkersEnv,
} from "../../../../scripts/test-workers.ts";
import { resolveOptions } from "../../../adapter-python/src/resolve-options.ts";
import { DEFAULTS } from "../../src/options.ts";

const IMPORTED = { modules: [], tools: "imported" };

test("tests have the workers that SNAKEPIT_TEST_WORKERS chooses", () => {
	const { transport = "grpc", preload } = testWorkers();
	expect(DEFAULTS.transport).toBe(transport);
	expect(resolveOptions({ tools: "a.py" }).preload).toEqual(
		preload ? IMPORTED : "auto",
	);
});

const print = `
	import { DEFAULTS } from "${new URL("../../src/options.ts", import.meta.url)}";
	import { resolveOptions } from "${new URL("../../../adapter-python/src/resolve-options.ts", import.meta.url)}";
	const { preload } = resolveOptions({ tools: "a.py" });
	console.log(JSON.stringify([DEFAULTS.transport, preload]));
`;

test.each([
	["", "grpc", "auto"],
	["framed", "framed", "auto"],
	["preloaded", "grpc", IMPORTED],
	["framed+preloaded", "framed", IMPORTED],
])('and so do programs that they start: "%s"', (chosen, ...expected) => {
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
	expect(() => testWorkers("farmed")).toThrow(
		"framed, preloaded, framed+preloaded or not set",
	);
});
