import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { needsPython, PYTHON } from "./tables-pool.ts";

const page = join(import.meta.dirname, "../../../../docs/tables.md");
/** A fenced block whose first line names its file. */
const FILE = /^```(?:ts|py)\n(?:\/\/|#) (\S+)\n(.*?)^```$/gms;

test.runIf(PYTHON)(
	`the program in docs/tables.md prints what its comments say${needsPython}`,
	{ timeout: 120_000 },
	() => {
		// Beside the packages, which it imports.
		const directory = join(import.meta.dirname, "../../.snippets-tables");
		rmSync(directory, { recursive: true, force: true });
		mkdirSync(directory);
		onTestFinished(() => rmSync(directory, { recursive: true }));
		for (const [, name = "", text = ""] of readFileSync(page, "utf8").matchAll(
			FILE,
		))
			writeFileSync(join(directory, name), text);
		const printed = execFileSync(
			process.execPath,
			["--conditions=snakepit-source", "main.ts"],
			{
				cwd: directory,
				encoding: "utf8",
				env: {
					...process.env,
					VIRTUAL_ENV: dirname(dirname(PYTHON ?? "")),
					XDG_STATE_HOME: directory,
				},
			},
		);
		expect(printed).toBe("Float64Array(2) [ 6, 7 ]\nann 6\nbob 7\n");
	},
);
