import type { LayerReport } from "@snakepit/core/protection";
import type { ResolvedOptions } from "../options.ts";
import {
	choiceNote,
	chooseInterpreter,
	requireBridge,
} from "./choose-interpreter.ts";
import type {
	InterpreterSource,
	SearchSetting,
} from "./interpreter-sources.ts";
import { runProgram } from "./run-program.ts";

/** Python only reads a few directories, so only a slow disk can delay it. */
const LOOK_TIMEOUT_MS = 20_000;

/** For the bridge and each named file: its directory, and why Python cannot store compiled files there. */
const PROGRAM = `
import sys
sys.path[:] = [entry for entry in sys.path if entry != ""]
import json, os
from importlib.util import cache_from_source, find_spec
kept = []
for source in [find_spec("snakepit_bridge").origin, *sys.argv[1:]]:
    compiled = location = cache_from_source(source)
    while not os.path.isdir(location):
        location = os.path.dirname(location)
    why = None
    if not os.path.exists(source) or os.path.exists(compiled):
        pass
    elif sys.dont_write_bytecode:
        why = "PYTHONDONTWRITEBYTECODE is set"
    elif not os.access(location, os.W_OK):
        why = "this user may not write to " + location
    if why is not None:
        kept.append([os.path.dirname(source), why])
print(json.dumps(kept))
`;

/**
 * Reports which Python the workers would run on, whether it has the bridge, and whether it stores compiled files: if
 * not, every start of a worker compiles the bridge and the tools again.
 */
export async function inspectPython(
	sources: readonly InterpreterSource[],
	setting: SearchSetting,
	{ tools, kind }: Pick<ResolvedOptions, "tools" | "kind">,
): Promise<LayerReport> {
	const { signal } = new AbortController();
	const choice = await chooseInterpreter(sources, setting, signal);
	requireBridge(choice, kind.transport.extra);
	const files = tools.flatMap((each) => ("file" in each ? [each.file] : []));
	const done = await runProgram(choice.program, ["-c", PROGRAM, ...files], {
		...setting,
		signal,
		timeoutMs: LOOK_TIMEOUT_MS,
	});
	if (done.kind === "missing" || done.code !== 0)
		throw new Error(`${choice.program}: ${done.problem}`);
	const uncompiled = JSON.parse(
		done.stdout.trimEnd().split("\n").at(-1) ?? "",
	) as readonly (readonly [directory: string, why: string])[];
	const report = { layer: kind.name, status: "available" } as const;
	const note = choiceNote(choice);
	if (uncompiled.length === 0)
		return { ...report, detail: `${note} It keeps what it compiles.` };
	const [, why = ""] = uncompiled[0] ?? [];
	const directories = [...new Set(uncompiled.map(([directory]) => directory))];
	return {
		...report,
		detail: `${note} Each start of a worker compiles ${directories.join(" and ")} again, which makes it slower: there are no compiled files, and ${why}.`,
		remedy: `${why.startsWith("PYTHON") ? "Unset PYTHONDONTWRITEBYTECODE for the workers" : "Set PYTHONPYCACHEPREFIX for the workers to a directory that this user may write to"}, or compile once, as a user who may write there: ${choice.program} -m compileall -q ${directories.map((each) => JSON.stringify(each)).join(" ")}`,
	};
}
