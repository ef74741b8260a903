import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../scripts/test-data-directory.ts";
import { PYTHON, toolsFile } from "./support/pythons.ts";

const program = fileURLToPath(
	new URL("./programs/idle-pool.ts", import.meta.url),
);

test("an idle pool of Python workers does not hold the program open", async () => {
	const { stdout } = await promisify(execFile)(
		process.execPath,
		[
			"--conditions=snakepit-source",
			program,
			toolsFile("bench.py"),
			PYTHON,
			temporaryDirectory(),
		],
		{ timeout: 25_000 },
	);
	expect(JSON.parse(stdout)).toEqual([2, [0, 1, 2], "number"]);
});
