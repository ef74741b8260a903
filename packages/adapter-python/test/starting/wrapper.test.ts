import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { testPool } from "../../../../scripts/test-pool.ts";
import { python } from "../../src/index.ts";
import { failureOf } from "../support/calls.ts";
import { scratch } from "../support/fake-python.ts";
import { PYTHON, toolsFile } from "../support/pythons.ts";

/** A script that sets a variable, notes what it was started for, and runs Python. */
function wrapper(last: string): {
	readonly path: string;
	readonly log: string;
} {
	const directory = scratch();
	const path = join(directory, "wrapper");
	const log = join(directory, "log");
	const text = `#!/bin/sh\necho "$*" | tr '\\n' ' ' | cut -c 1-80 >> '${log}'\nLD_HINT=from-the-wrapper\nexport LD_HINT\n${last}\n`;
	writeFileSync(path, text);
	chmodSync(path, 0o755);
	return { path, log };
}

async function hintOf(
	program: string,
	preload: "tools" | "off",
): Promise<unknown> {
	const { pool } = await testPool({
		adapter: python({ tools: toolsFile("bench.py"), python: program, preload }),
	});
	return await pool.execute("environment", ["LD_HINT"]);
}

test.each([
	["by an absolute path", (path: string) => path],
	["by a relative one", (path: string) => `./${relative(process.cwd(), path)}`],
])(
	"a wrapper that is named as python %s is what is executed, for the question who it is and for workers",
	async (_how, name) => {
		const { path, log } = wrapper(`exec '${PYTHON}' "$@"`);
		expect(await hintOf(name(path), "off")).toBe("from-the-wrapper");
		const started = readFileSync(log, "utf8");
		expect(started).toMatch(/^-c /m);
		expect(started).toMatch(/-m snakepit_bridge worker /);
	},
);

test.skipIf(process.platform !== "linux")(
	"a preloaded parent is started by the wrapper, too, and its workers have what that sets",
	async () => {
		const { path, log } = wrapper(`exec '${PYTHON}' "$@"`);
		expect(await hintOf(path, "tools")).toBe("from-the-wrapper");
		expect(readFileSync(log, "utf8")).toMatch(/-m snakepit_bridge preload /);
	},
);

test("a wrapper that does not pass the control channel on gets an error with the remedy", async () => {
	const { path } = wrapper(`exec '${PYTHON}' "$@" 3<&-`);
	const error = await failureOf(
		testPool({
			adapter: python({
				tools: toolsFile("bench.py"),
				python: path,
				preload: "off",
			}),
			start: { maxRestarts: 0 },
		}),
	);
	expect(String(error)).toContain("file descriptor 3");
	expect(String(error)).toContain("exec");
});
