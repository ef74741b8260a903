// Looks for a Python as another user does, and tells what it found or why not.

import { execFileSync } from "node:child_process";
import { python } from "../../src/index.ts";
import {
	chooseInterpreter,
	requireBridge,
} from "../../src/interpreter/choose-interpreter.ts";
import { usualSources } from "../../src/interpreter/interpreter-sources.ts";

const [uid = "", setting = "{}", tools = "", limit] = process.argv.slice(2);
// All that this program needs is loaded: from here on it reads what that user may.
if (uid !== "") {
	process.setgroups?.([]);
	process.setgid?.(Number(uid));
	process.setuid?.(Number(uid));
}
// It has its own threads by now; root would have no such limit.
if (limit === "no-processes")
	execFileSync("prlimit", ["--nproc=1:1", "--pid", String(process.pid)]);
const { env, cwd } = JSON.parse(setting);
const { signal } = new AbortController();
let outcome: unknown;
try {
	if (tools !== "") await python({ tools, env }).prepare?.(signal);
	else {
		const sources = usualSources({ env, cwd });
		const choice = await chooseInterpreter(sources, { env, cwd }, signal);
		requireBridge(choice);
		outcome = choice;
	}
} catch (error) {
	const { code, message } = error as { code?: unknown; message: string };
	outcome = { code, message };
}
process.stdout.write(`${JSON.stringify(outcome)}\n`);
