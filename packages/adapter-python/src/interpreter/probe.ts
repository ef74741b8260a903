import { type ProgramSetting, runProgram } from "../programs/run-program.ts";
import type { InterpreterFacts } from "./interpreter.ts";
import { reach } from "./reach.ts";

/** How long Python may take to describe itself; the first start on a slow disk reads a lot. */
const PROBE_TIMEOUT_MS = 30_000;

/**
 * Also for interpreters that are too old: it must be read by Python 2 to be refused by name.
 *
 * Python silently ignores what it may not read: a directory of packages, a `.pth` file, or the directory that it names.
 * The working directory is not searched: a `json.py` in it would be imported and run. (The switches for this are not
 * known to every Python, or also ignore PYTHONPATH and the packages of the user.)
 *
 * The bridge's version is read, not imported. The second import fails where PYTHONHOME names the library of another
 * Python, which may lack the compiled modules that workers need.
 */
const PROGRAM = `
import sys
sys.path[:] = [entry for entry in sys.path if entry != ""]
import errno, glob, io, json, os, re
import _socket, fcntl, select
closed = []
watched = [sys.executable, getattr(sys, "_base_executable", None), os.path.join(sys.prefix, "pyvenv.cfg")]
def read(path):
    try:
        with io.open(path, encoding="utf-8") as file:
            return file.read()
    except (IOError, OSError) as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            closed.append(path)
        return ""
def look(path):
    try:
        is_directory = os.path.isdir(path)
        os.stat(path)
        if is_directory:
            os.listdir(path)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            closed.append(path)
for entry in list(sys.path):
    look(entry)
    look(os.path.join(entry, "snakepit_bridge"))
    watched += [entry, os.path.join(entry, "snakepit_bridge")]
    for pth in sorted(glob.glob(os.path.join(entry, "*.pth"))):
        watched.append(pth)
        for line in read(pth).splitlines():
            if line.strip() and not line.startswith(("#", "import ", "import\\t")):
                look(os.path.join(entry, line.strip()))
bridge = None
uncompiled = None
try:
    from importlib.util import cache_from_source, find_spec
    spec = find_spec("snakepit_bridge")
    if spec is not None and spec.origin is not None:
        text = read(os.path.join(os.path.dirname(spec.origin), "_version.py"))
        found = re.search('^__version__ = "([^"]+)"', text, re.M)
        bridge = found.group(1) if found else "unknown"
        compiled = os.path.dirname(cache_from_source(spec.origin))
        watched += [spec.origin, os.path.join(os.path.dirname(spec.origin), "_version.py"), compiled]
        place = compiled
        while not os.path.isdir(place):
            place = os.path.dirname(place)
        if os.path.exists(cache_from_source(spec.origin)):
            pass
        elif sys.dont_write_bytecode:
            uncompiled = "PYTHONDONTWRITEBYTECODE is set"
        elif not os.access(place, os.W_OK):
            uncompiled = "this user may not write to " + place
except Exception:
    pass
print(json.dumps({
    "version": list(sys.version_info[:3]),
    "executable": sys.executable,
    "prefix": sys.prefix,
    "bridge": bridge,
    "unreadable": closed,
    "uncompiled": uncompiled,
    "watched": [path for path in watched if path],
    "environment": dict(os.environ),
}))
`;

/** Runs an interpreter to describe itself; returns a short reason when that fails. */
export async function probeInterpreter(
	program: string,
	setting: Omit<ProgramSetting, "timeoutMs">,
): Promise<InterpreterFacts | string> {
	const done = await runProgram(program, ["-c", PROGRAM], {
		...setting,
		timeoutMs: PROBE_TIMEOUT_MS,
	});
	if (done.kind === "missing")
		return done.problem.endsWith("ENOENT") && reach(program).kind === "reached"
			? `${program} exists, but the program that its first line names does not (ENOENT)`
			: done.problem;
	if (done.code !== 0) return `${program}: ${done.problem}`;
	return readFacts(program, done.stdout);
}

function readFacts(program: string, stdout: string): InterpreterFacts | string {
	// Start-up files of a site may print, too: the last line is ours.
	const line = stdout.trimEnd().split("\n").at(-1) ?? "";
	try {
		const said = JSON.parse(line) as {
			readonly version: readonly [number, number, number];
			readonly executable: string | null;
			readonly prefix: string;
			readonly bridge: string | null;
			readonly unreadable: readonly string[];
			readonly uncompiled?: string | null;
			readonly watched?: readonly string[];
			readonly environment: Readonly<Record<string, string>>;
		};
		const [major, minor, patch] = said.version;
		return {
			executable: said.executable || program,
			version: [major, minor, patch],
			prefix: said.prefix,
			bridge: said.bridge ?? undefined,
			unreadable: said.unreadable,
			uncompiled: said.uncompiled ?? undefined,
			watched: said.watched ?? [],
			environment: said.environment,
		};
	} catch {
		return `${program}: it does not answer like Python: ${JSON.stringify(line.slice(0, 100))}`;
	}
}
