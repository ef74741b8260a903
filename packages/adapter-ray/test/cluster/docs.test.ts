import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import {
	hasCluster,
	needsCluster,
	sharedCluster,
} from "../../../../scripts/ray/test-cluster.ts";
import { isThorough } from "../../../../scripts/test-effort.ts";
import { START_MS } from "./ray-pool.ts";

const own = join(import.meta.dirname, "../..");
const PAGE = join(own, "../../docs/more-than-one-machine.md");
/** A fenced block whose first line names its file. */
const BLOCK = /^```\w+\n(?:\/\/|#) (\S+\.(?:ts|py))\n.*?^```$/gms;

test.runIf(hasCluster && isThorough())(
	`the program in docs/more-than-one-machine.md runs and prints what its comment says${needsCluster}`,
	{ timeout: START_MS },
	async () => {
		const { address, options } = await sharedCluster();
		// Inside the package, so that its imports resolve as a user's would.
		const directory = mkdtempSync(join(own, ".snippets-"));
		onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
		const files = [...readFileSync(PAGE, "utf8").matchAll(BLOCK)];
		expect(files.map(([, name]) => name)).toEqual(["tools.py", "cluster.ts"]);
		for (const [block, name = ""] of files) {
			const text = block.split("\n").slice(1, -1).join("\n");
			writeFileSync(join(directory, name), text);
		}
		const { stdout } = await promisify(execFile)(
			process.execPath,
			["--conditions=snakepit-source", "cluster.ts"],
			{
				cwd: directory,
				env: {
					...process.env,
					XDG_STATE_HOME: directory,
					RAY_ADDRESS: address,
					VIRTUAL_ENV: dirname(dirname(options.python)),
				},
			},
		);
		expect(stdout).toBe("42\n");
	},
);
