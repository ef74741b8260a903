import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { PYTHON, toolsFile } from "../support/pythons.ts";

const PROGRAM = join(import.meta.dirname, "../programs/without-directory.ts");

test("in a working directory that was removed, what does not need it works, and everything else says what to do", async () => {
	const scratch = temporaryDirectory();
	const { stdout } = await promisify(execFile)(process.execPath, [
		...["--conditions=snakepit-source", PROGRAM, scratch],
		...[PYTHON, toolsFile("bench.py")],
	]);
	const gone = {
		code: "WORKING_DIRECTORY_GONE",
		message: expect.stringMatching(/was removed .* process\.chdir\(\)/),
	};
	const missing = {
		code: "SPAWN_FAILED",
		message: expect.stringMatching(/does not exist/),
	};
	expect(JSON.parse(stdout)).toEqual({
		absolute: 3,
		searched: gone,
		relativeTools: gone,
		relativePython: gone,
		environment: {
			code: expect.stringMatching(/^[A-Z_]+$/),
			message: expect.not.stringMatching(/uv_cwd/),
		},
		relativeLedger: {
			code: "REGISTRY_UNWRITABLE",
			message: expect.stringMatching(/was removed .* process\.chdir\(\)/),
		},
		relativeProgram: missing,
		relativeDirectory: missing,
	});
});
