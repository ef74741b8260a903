import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { must } from "../../../scripts/run.ts";
import type { Figures, Row } from "../case.ts";
import { temporaryDirectory } from "../measure/temporary-directory.ts";
import { ourName } from "./ours.ts";

/** From the first line of a program to its first answer; of a bare Python, all of it. */
export const FIRST_ANSWER = "first_answer_ms";
export const HOST_CPU = "host_cpu_ms";
export const BARE_PYTHON = "limit, python -c pass";
export const FRESH_PROGRAM: string = ourName("framed, a fresh program");

const PROGRAM = fileURLToPath(
	new URL("./first-answer-program.ts", import.meta.url),
);
const TOOLS = fileURLToPath(
	new URL("../python/plain_tools.py", import.meta.url),
);

/** What a whole program waits for that has nothing loaded and nothing started. */
export const firstAnswerRows: readonly Row[] = [
	{
		name: BARE_PYTHON,
		kind: "limit",
		measure: async ({ python }) => {
			const begunMs = performance.now();
			run(python, ["-c", "pass"]);
			return { [FIRST_ANSWER]: performance.now() - begunMs };
		},
	},
	{
		name: FRESH_PROGRAM,
		kind: "ours",
		measure: async ({ python }) => {
			must("pnpm", ["build"]);
			const ledger = temporaryDirectory();
			const once = (): Figures =>
				JSON.parse(run(process.execPath, [PROGRAM, python, TOOLS, ledger]));
			// Files come into the page cache, and what is known of the interpreter onto the disk.
			once();
			return once();
		},
	},
];

function run(program: string, args: readonly string[]): string {
	const { status, stdout, stderr } = spawnSync(program, args, {
		encoding: "utf8",
	});
	if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
	return stdout;
}
