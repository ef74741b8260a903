import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { freshDirectory } from "./promises/host-process.ts";
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
			freshDirectory(),
		],
		{ timeout: 25_000 },
	);
	expect(JSON.parse(stdout)).toEqual([2, [0, 1, 2], "number"]);
});
