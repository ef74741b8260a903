import { type ProgramSetting, runProgram } from "../programs/run-program.ts";
import type { InterpreterFacts } from "./interpreter.ts";

/** How long Python may take to say who it is; the first start on a slow disk reads a lot. */
const PROBE_TIMEOUT_MS = 30_000;

/** Also for interpreters that are too old: it must be read by Python 2 to be refused by name. */
const PROGRAM = `
import json, sys
sys.path[:] = [entry for entry in sys.path if entry != ""]
try:
    from importlib.util import find_spec
    spec = find_spec("snakepit_bridge")
    bridge = spec is not None and spec.origin is not None
except Exception:
    bridge = False
print(json.dumps([list(sys.version_info[:3]), sys.executable, bridge]))
`;

/** Asks an interpreter who it is; returns in a few words why not, when it cannot be asked. */
export async function probeInterpreter(
	executable: string,
	setting: Omit<ProgramSetting, "timeoutMs">,
): Promise<InterpreterFacts | string> {
	const done = await runProgram(executable, ["-c", PROGRAM], {
		...setting,
		timeoutMs: PROBE_TIMEOUT_MS,
	});
	if (done.kind === "missing") return done.problem;
	if (done.code !== 0) return `${executable}: ${done.problem}`;
	return readFacts(executable, done.stdout);
}

function readFacts(
	executable: string,
	stdout: string,
): InterpreterFacts | string {
	// Start-up files of a site may print, too: the last line is ours.
	const line = stdout.trimEnd().split("\n").at(-1) ?? "";
	try {
		const [version, reported, hasBridge] = JSON.parse(line) as [
			[number, number, number],
			string,
			boolean,
		];
		const [major, minor, patch] = version;
		return {
			executable: reported || executable,
			version: [major, minor, patch],
			hasBridge,
		};
	} catch {
		return `${executable}: it does not answer as Python does: ${JSON.stringify(line.slice(0, 100))}`;
	}
}
