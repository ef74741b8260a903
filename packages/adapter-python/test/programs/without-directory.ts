/** Uses Python in a working directory that was removed, and prints what each use comes to. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createPool, openRun } from "@snakepit/core";
import {
	type PythonOptions,
	python,
	pythonEnvironment,
} from "../../src/index.ts";

const [, , scratch = "", interpreter = "", tools = ""] = process.argv;
const gone = mkdtempSync(join(scratch, "gone-"));
process.chdir(gone);
rmSync(gone, { recursive: true });

async function came(use: () => Promise<unknown>): Promise<unknown> {
	try {
		return await use();
	} catch (error) {
		const { code, message } = error as { code?: string; message: string };
		return { code, message };
	}
}

const dataDir = join(scratch, "data");
const called = (options: PythonOptions) =>
	came(async () => {
		await using pool = await createPool({
			...{ adapter: python(options), size: 1, dataDir },
			output: { echo: "none" },
		});
		return await pool.execute("add", { a: 1, b: 2 });
	});
const environment = pythonEnvironment({ requirements: ["."] });
console.log(
	JSON.stringify({
		absolute: await called({ tools, python: interpreter }),
		searched: await called({ tools }),
		relativeTools: await called({ tools: "./tools.py", python: interpreter }),
		relativePython: await called({ tools, python: "./venv/bin/python" }),
		environment: await called({ tools, environment }),
		relativeLedger: await came(() => openRun({ dataDir: "data" })),
		relativeProgram: await came(async () => {
			await using run = await openRun({ dataDir });
			return await run.job(["./program"]).text();
		}),
		relativeDirectory: await came(async () => {
			await using run = await openRun({ dataDir });
			return await run.job(["pwd"], { cwd: "below" }).text();
		}),
	}),
);
