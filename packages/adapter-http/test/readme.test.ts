import { dirname } from "node:path";
import { expect, test } from "vitest";
import {
	blocksOf,
	runProgram,
	writeFiles,
} from "../../../scripts/page-programs.ts";
import { needsPython, python } from "./uvicorn.ts";

test.runIf(python)(`the README's program runs${needsPython}`, () => {
	const blocks = blocksOf(new URL("../README.md", import.meta.url));
	const directory = writeFiles(import.meta.dirname, blocks);
	const { stdout, stderr } = runProgram(directory, "main.ts", {
		PATH: `${dirname(python ?? "")}:${process.env["PATH"]}`,
	});
	expect({ stdout, errors: /error/i.test(stderr) && stderr }).toEqual({
		stdout: "{ words: 3 }\n3\n2\n1\ntrue\n",
		errors: false,
	});
});
