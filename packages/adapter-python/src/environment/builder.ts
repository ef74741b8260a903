import { type ChildProcess, spawn } from "node:child_process";
import { clearTimeout, setTimeout } from "node:timers";
import { StartError } from "@snakepit/core";
import { requireToSpawn } from "@snakepit/core/infrastructure";
import type { PythonStartErrorCode } from "../start-error-codes.ts";
import { cloneNote } from "../worker/worker-facts.ts";
import { type Requirement, readRequirement } from "./python-environment.ts";

/** What is to be built. */
interface BuildOrder {
	readonly directory: string;
	/** Arguments of `pip install`. */
	readonly install: readonly string[];
}

/** How it went. */
type BuildOutcome =
	/** `made` is false when it existed already. */
	| { readonly kind: "complete"; readonly made: boolean }
	| {
			readonly kind: "failed";
			/** What failed, in a few words. */
			readonly problem: string;
			/** Its output; may be empty. */
			readonly output: string;
	  };

const MAX_OUTPUT_LENGTH = 65_536;

/**
 * Builds a virtual environment with its interpreter, or waits while another program builds it.
 *
 * Kills the builder after `timeoutMs`, or rejects with the signal's reason when that aborts. Rejects with what the
 * system reports when no descriptor is left.
 */
export function build(
	interpreter: string,
	order: BuildOrder,
	timeoutMs: number,
	signal: AbortSignal,
): Promise<BuildOutcome> {
	signal.throwIfAborted();
	return new Promise((resolve, reject) => {
		requireToSpawn(3);
		// Its own group, which the builder ends when its standard input ends.
		const child = spawn(interpreter, ["-I", "-c", BUILDER_PROGRAM], {
			stdio: ["pipe", "pipe", "pipe"],
			detached: true,
		});
		let stdout = "";
		let stderr = "";
		// It may not even run the builder: nothing is left to its own end.
		const giveUp = (): void => {
			if (child.exitCode === null && child.signalCode === null)
				killGroup(child);
			for (const stream of [child.stdin, child.stdout, child.stderr])
				stream.destroy();
			over({
				kind: "failed",
				problem: `not complete within ${timeoutMs} ms (buildTimeoutMs)`,
				output: stderr,
			});
		};
		const timer = setTimeout(giveUp, timeoutMs);
		signal.addEventListener("abort", giveUp);
		const over = (outcome: BuildOutcome): void => {
			clearTimeout(timer);
			signal.removeEventListener("abort", giveUp);
			if (signal.aborted) reject(signal.reason);
			else resolve(outcome);
		};
		child.stdin.on("error", () => {}); // It ended: its exit is handled.
		child.stdin.write(`${JSON.stringify(order)}\n`);
		child.stdout.setEncoding("utf8").on("data", (text: string) => {
			stdout = (stdout + text).slice(-MAX_OUTPUT_LENGTH);
		});
		child.stderr.setEncoding("utf8").on("data", (text: string) => {
			stderr = (stderr + text).slice(-MAX_OUTPUT_LENGTH);
		});
		child.on("error", (error) =>
			over({
				kind: "failed",
				problem: `${interpreter} did not start`,
				output: error.message,
			}),
		);
		// What it left there could hold its output open for ever.
		child.on("exit", () => killGroup(child));
		child.on("close", (code, killedBy) =>
			over(readOutcome(stdout, stderr, killedBy ?? `exit code ${code}`)),
		);
	});
}

/** @param leader runs, or has ended in this turn: later, another program's group could have its number. */
function killGroup({ pid }: ChildProcess): void {
	if (pid === undefined) return;
	try {
		process.kill(-pid, "SIGKILL");
	} catch {
		// Nothing is left in it.
	}
}

/** Reads the last line of the builder. */
function readOutcome(
	stdout: string,
	stderr: string,
	ending: string,
): BuildOutcome {
	const line = stdout.trimEnd().split("\n").at(-1) ?? "";
	let report: Record<string, unknown> = {};
	try {
		report = JSON.parse(line) as Record<string, unknown>;
	} catch {
		// It ended before it could report.
	}
	if (typeof report["made"] === "boolean")
		return { kind: "complete", made: report["made"] };
	if (typeof report["failed"] === "string") {
		return {
			kind: "failed",
			problem: `${report["failed"]} … ended with ${String(report["code"])}`,
			output: String(report["output"]),
		};
	}
	return {
		kind: "failed",
		problem: `the builder ended with ${ending}`,
		output: stderr,
	};
}

/**
 * Builds one virtual environment, unless it is already complete; runs in the interpreter that the environment is for.
 * The first line of standard input is the order; the last line of standard output is the outcome.
 *
 * The kernel releases the lock when its holder ends in any way, and the next one that waits continues. When standard
 * input ends, because the host ended or gave up, this program ends, with all processes that it started.
 */
const BUILDER_PROGRAM = `
import fcntl, json, os, shutil, signal, subprocess, sys, threading

order = json.loads(sys.stdin.buffer.readline().decode())

def end_with_the_host():
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)

threading.Thread(target=end_with_the_host, daemon=True).start()

def report(**outcome):
    print(json.dumps(outcome), flush=True)

def run(command):
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        text = done.stdout.decode("utf-8", "replace")
        report(failed=" ".join(command[:6]), code=done.returncode, output=text[-20000:])
        sys.exit(0)

directory = order["directory"]
python = os.path.join(directory, "bin", "python")
complete = os.path.join(directory, "snakepit-environment.json")
with open(directory + ".lock", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if os.path.exists(complete) and os.path.exists(python):
        report(made=False)
        sys.exit(0)
    if os.path.lexists(directory):
        shutil.rmtree(directory)
    uv = shutil.which("uv")
    if uv is not None:
        run([uv, "venv", "--quiet", "--python", sys.executable, directory])
        install = [uv, "pip", "install", "--quiet", "--python", python]
    else:
        without = [] if order["install"] else ["--without-pip"]
        run([sys.executable, "-I", "-m", "venv", *without, directory])
        install = [python, "-I", "-m", "pip", "install", "--quiet", "--no-input"]
        install += ["--disable-pip-version-check", "--no-compile"]
    if order["install"]:
        run(install + order["install"])
        # Otherwise the first worker would, or each one, where it may not keep compiled files. But not
        # the tests of packages: they are half of scikit-learn. A file may be for another Python.
        compileall = [python, "-I", "-m", "compileall", "-qq", "-x", "/site-packages/.*/tests?/"]
        subprocess.run([*compileall, os.path.join(directory, "lib")], stdout=subprocess.DEVNULL)
    with open(complete + ".new", "w") as marker:
        json.dump(order, marker, indent=1)
    os.replace(complete + ".new", complete)
    report(made=True)
`;

const BRIDGE = "snakepit-bridge";
/** The name that a requirement begins with, and what may come after one. Source: PyPA's dependency specifiers. */
const NAME = /^\s*([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)\s*(?:$|[[(<>=!~;@,])/i;
/** A file to install; pip checks for a file before it reads the text as a name. */
const FILE = /\.(?:whl|zip|tar\.\w+|tgz)$/i;

/**
 * Refuses an environment in which no worker can run, before it is created.
 *
 * What a directory, a file or an address contains is known only when it is installed.
 *
 * @param env that of the interpreter: `PYTHONPATH` may lead to the bridge as well.
 * @throws StartError `BRIDGE_MISSING`
 */
export function requireBridgeAmong(
	texts: readonly string[] | undefined,
	env: Readonly<Record<string, string | undefined>>,
): void {
	if (texts === undefined || env["PYTHONPATH"]) return;
	const names = texts.map(readRequirement).map(nameOf);
	if (names.includes(undefined) || names.includes(BRIDGE)) return;
	throw new StartError<PythonStartErrorCode>({
		code: "BRIDGE_MISSING",
		message: `The environment was not created: its requirements (${texts.join(", ") || "none"}) do not contain ${BRIDGE}, which every worker needs. Add "${BRIDGE}" to the requirements of pythonEnvironment(), even if another requirement depends on it.${cloneNote()}`,
	});
}

/** Normalized as in the package index; `undefined` if it cannot be read. Source: PyPA, "Names and normalization". */
function nameOf(requirement: Requirement): string | undefined {
	if (requirement.kind === "directory" || FILE.test(requirement.text.trim()))
		return undefined;
	return NAME.exec(requirement.text)?.[1]
		?.toLowerCase()
		.replaceAll(/[-_.]+/g, "-");
}
