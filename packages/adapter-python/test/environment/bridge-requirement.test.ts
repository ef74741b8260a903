import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testPool } from "../../../../scripts/test-pool.ts";
import { requireBridgeAmong } from "../../src/environment/builder.ts";
import {
	type PythonEnvironment,
	python as pythonAdapter,
	pythonEnvironment,
} from "../../src/index.ts";
import { failureOf } from "../support/calls.ts";
import { bench } from "../support/environments.ts";
import { fakePython, scratch } from "../support/fake-python.ts";
import { toolsFile } from "../support/pythons.ts";

test.each<[string, readonly string[]]>([
	["none", []],
	["others", ["numpy", "scikit-learn>=1.5,<2 ; python_version >= '3.10'"]],
	["one with a name like it", ["snakepit-bridge-tools[all]==1.0"]],
])(
	"a pool is refused before its environment is made where the bridge is not among its requirements: %s",
	async (_which, requirements) => {
		const { options, directory } = bench();
		const environment = pythonEnvironment({ ...options, requirements });
		const tools = toolsFile("bench.py");
		const env = { PYTHONPATH: undefined };
		const error = await failureOf(
			testPool({ adapter: pythonAdapter({ tools, environment, env }) }),
		);
		expect(error).toMatchObject({ code: "BRIDGE_MISSING", ran: "no" });
		expect(String(error)).toContain('Add "snakepit-bridge"');
		expect(existsSync(directory)).toBe(false);
	},
);

test.each([
	["snakepit-bridge"],
	["Snakepit_Bridge [numpy] >= 1.0"],
	["snakepit.bridge@file:///somewhere/x.whl"],
	["./wheels/tools-1.0-py3-none-any.whl"],
	["tools-1.0.tar.gz"],
	["git+https://example.org/tools.git"],
	["https://example.org/tools"],
	[import.meta.dirname],
])("%s may bring the bridge", (requirement) => {
	const texts = ["numpy", requirement];
	expect(() => requireBridgeAmong(texts, {})).not.toThrow();
});

test("so may a path that Python is given", () => {
	const refused = () => requireBridgeAmong(["numpy"], { PYTHONPATH: "" });
	expect(refused).toThrow(/\(numpy\)/);
	expect(() =>
		requireBridgeAmong(["numpy"], { PYTHONPATH: "/bridge" }),
	).not.toThrow();
});

test.each([
	["what a directory brings", [import.meta.dirname]],
	["what somebody else makes", undefined],
])(
	"an environment of which it is not known before is refused when it is made: %s",
	async (_which, requirements) => {
		const python = fakePython(join(scratch(), "python"), "3.12.0", {
			bridge: undefined,
		});
		let made = 0;
		const environment: PythonEnvironment = {
			requirements,
			make: async () => {
				made++;
				return { python, directory: "/d", key: "k", reused: false };
			},
		};
		const error = await failureOf(
			testPool({
				adapter: pythonAdapter({ tools: toolsFile("bench.py"), environment }),
			}),
		);
		expect(error).toMatchObject({ code: "BRIDGE_MISSING", ran: "no" });
		expect(made).toBe(1);
	},
);
