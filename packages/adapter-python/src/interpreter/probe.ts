import { createHash } from "node:crypto";
import {
	lstatSync,
	readdirSync,
	readFileSync,
	realpathSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { cacheDirectory } from "../environment/python-environment.ts";
import { VERSION } from "../gen/version.ts";
import { reach } from "./choose-interpreter.ts";
import type { InterpreterFacts } from "./interpreter.ts";
import type { SearchSetting } from "./interpreter-sources.ts";
import { type ProgramSetting, runProgram } from "./run-program.ts";

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
        location = compiled
        while not os.path.isdir(location):
            location = os.path.dirname(location)
        if os.path.exists(cache_from_source(spec.origin)):
            pass
        elif sys.dont_write_bytecode:
            uncompiled = "PYTHONDONTWRITEBYTECODE is set"
        elif not os.access(location, os.W_OK):
            uncompiled = "this user may not write to " + location
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
		const answer = JSON.parse(line) as {
			readonly version: readonly [number, number, number];
			readonly executable: string | null;
			readonly prefix: string;
			readonly bridge: string | null;
			readonly unreadable: readonly string[];
			readonly uncompiled?: string | null;
			readonly watched?: readonly string[];
			readonly environment: Readonly<Record<string, string>>;
		};
		const [major, minor, patch] = answer.version;
		return {
			executable: answer.executable || program,
			version: [major, minor, patch],
			prefix: answer.prefix,
			bridge: answer.bridge ?? undefined,
			unreadable: answer.unreadable,
			uncompiled: answer.uncompiled ?? undefined,
			watched: answer.watched ?? [],
			environment: answer.environment,
		};
	} catch {
		return `${program}: it does not answer like Python: ${JSON.stringify(line.slice(0, 100))}`;
	}
}

/** Variables that determine where Python finds its packages, and how it starts. */
const DECIDING = /^(PYTHON|LD_|DYLD_|__PYVENV|VIRTUAL_ENV|CONDA_|HOME$)/;
/** A file that changed so shortly before Python was run may have changed again since, with the same time. */
const SETTLED_MS = 2_000;
const MOST_FILES = 64;
const MOST_BYTES = 256 * 1024;

interface Memory {
	readonly facts: InterpreterFacts;
	/** The dependencies of the facts: identity and last change of each file and directory. */
	readonly stamps: Readonly<Record<string, string>>;
}

/** The reports of interpreters to earlier programs of this user, valid while none of their dependencies has changed. */
export class RememberedFacts {
	readonly #directory: string;

	/** @param directory private to this user. */
	constructor(directory: string) {
		this.#directory = directory;
	}

	/** The report of this interpreter; `undefined` if it must be run. */
	read(program: string, setting: SearchSetting): InterpreterFacts | undefined {
		try {
			const path = this.#path(program, setting);
			const file = lstatSync(path);
			const isOurs = file.isFile() && file.uid === userInfo().uid;
			if (!isOurs || (file.mode & 0o077) !== 0 || file.size > MOST_BYTES)
				return undefined;
			const { facts, stamps } = JSON.parse(
				readFileSync(path, "utf8"),
			) as Memory;
			const isSame = Object.entries(stamps).every(
				([location, stamp]) => stampOf(location) === stamp,
			);
			return isSame ? facts : undefined;
		} catch {
			return undefined;
		}
	}

	/**
	 * Remembers a report.
	 *
	 * @param askedMs when the interpreter was run, since the epoch.
	 */
	write(
		program: string,
		setting: SearchSetting,
		facts: InterpreterFacts,
		askedMs: number,
	): void {
		// A program without this list did not answer our question.
		if (facts.watched.length === 0) return;
		const locations = [program, ...facts.watched];
		if (
			locations.some((location) => changedMs(location) > askedMs - SETTLED_MS)
		)
			return;
		const stamps = Object.fromEntries(
			locations.map((location) => [location, stampOf(location)]),
		);
		// Only needed for wrappers, which are not remembered.
		const memory: Memory = { facts: { ...facts, environment: {} }, stamps };
		const path = this.#path(program, setting);
		const part = `${path}.${process.pid}`;
		try {
			if (readdirSync(this.#directory).length >= MOST_FILES)
				for (const name of readdirSync(this.#directory))
					rmSync(join(this.#directory, name), { force: true });
			writeFileSync(part, JSON.stringify(memory), { mode: 0o600, flag: "wx" });
			renameSync(part, path);
		} catch {
			// It is run again next time.
		}
	}

	#path(program: string, { env, cwd }: SearchSetting): string {
		const deciding = Object.entries(env)
			.filter(([name]) => DECIDING.test(name))
			.sort(([one], [other]) => (one < other ? -1 : 1));
		const key = createHash("sha256")
			.update(JSON.stringify([VERSION, program, cwd, deciding]))
			.digest("hex");
		return join(this.#directory, `${key}.json`);
	}
}

/** Changes with content, rights and identity; of a directory, with what it lists. */
function stampOf(location: string): string {
	try {
		const { dev, ino, ctimeNs, size } = statSync(location, { bigint: true });
		return [dev, ino, ctimeNs, size].join(":");
	} catch (error) {
		return String((error as NodeJS.ErrnoException).code);
	}
}

/** When it changed; a file that cannot be inspected may change at any time. */
function changedMs(location: string): number {
	try {
		return statSync(location, { throwIfNoEntry: false })?.ctimeMs ?? 0;
	} catch {
		return Number.POSITIVE_INFINITY;
	}
}

/** Nothing if this user has no private cache: then Python is run each time. */
export function rememberedFacts(): RememberedFacts | undefined {
	try {
		return new RememberedFacts(cacheDirectory("interpreters", process.env));
	} catch {
		return undefined;
	}
}

type Environment = Readonly<Record<string, string | undefined>>;

/** One variable that a wrapper sets, changes or removes; `undefined` stands for a missing one. */
interface WrapperChange {
	readonly before: string | undefined;
	readonly after: string | undefined;
}

/** The changes of a wrapper to the environment, by the names of variables. */
export type WrapperChanges = ReadonlyMap<string, WrapperChange>;

/** A shell and Python set these for themselves. */
const THEIR_OWN: ReadonlySet<string> = new Set([
	"_",
	"LC_CTYPE",
	"OLDPWD",
	"PWD",
	"SHLVL",
]);

/** Whether the executed file is not the one that Python reports. */
export function isWrapper(program: string, executable: string): boolean {
	try {
		return realpathSync(program) !== realpathSync(executable);
	} catch {
		return true;
	}
}

/** Compares the environment that a program got with the one that the Python behind it saw. */
export function wrapperChanges(
	started: Environment,
	observed: Environment,
): WrapperChanges {
	const names = new Set([...Object.keys(started), ...Object.keys(observed)]);
	const changes = [...names].flatMap((name) => {
		const before = started[name];
		const stored = observed[name];
		// The two languages read bytes that are not UTF-8 differently.
		const isText = stored === undefined || stored.isWellFormed();
		return before === stored || !isText || THEIR_OWN.has(name)
			? []
			: [[name, { before, after: stored }] as const];
	});
	return new Map(changes);
}

/**
 * The variables that a process needs if it is not started by the wrapper, but forked from a process that was. A
 * variable that differs from the probed process's one is left alone.
 */
export function missedChanges(
	changes: WrapperChanges,
	environment: Environment,
): Environment {
	return Object.fromEntries(
		[...changes]
			.filter(([name, { before }]) => environment[name] === before)
			.map(([name, { after }]) => [name, after]),
	);
}
