import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { root } from "./run.ts";

/** A program that Go compiles from its public source, at an exact version. */
export interface GoProgram {
	/** A module whose root is the program. */
	readonly module: string;
	/**
	 * A directory whose go.mod and go.sum name the program and everything that is compiled into it. Without them Go asks
	 * the registry which versions there are, which some registries refuse.
	 */
	readonly pinnedBy: string;
	/** Whether C code is compiled into it, which needs a C compiler. */
	readonly language: "go" | "go_and_c";
}

/** Where it is, or why it is not there and what to do about that. */
export type Installation =
	| { readonly kind: "installed"; readonly executable: string }
	| { readonly kind: "failed"; readonly problem: string };

export interface GoInstallSetting {
	/** Asks for it to be given up. */
	readonly signal: AbortSignal;
	/** How long it may take, in milliseconds. */
	readonly withinMs: number;
	/** Where installed programs are kept, each in a directory of its own. */
	readonly caches?: string;
	/** Where Go is found, and what it is told. */
	readonly environ?: NodeJS.ProcessEnv;
}

const CACHES = join(root, "node_modules/.cache");
/** Enough to say what is wrong; a compiler can go on for megabytes. */
const KEPT_CHARACTERS = 16_384;

/** Returns the path of a program that was installed before. */
export function installedGoProgram(
	program: GoProgram,
	caches: string = CACHES,
): string | undefined {
	const { executable, installed } = placeOf(program, caches);
	return existsSync(installed) ? executable : undefined;
}

/** Compiles a program, or finds it compiled: then that costs nothing and needs no Go. */
export async function installGoProgram(
	program: GoProgram,
	{
		signal,
		withinMs,
		caches = CACHES,
		environ = process.env,
	}: GoInstallSetting,
): Promise<Installation> {
	const there = installedGoProgram(program, caches);
	if (there !== undefined) return { kind: "installed", executable: there };

	const { directory, executable, installed } = placeOf(program, caches);
	mkdirSync(directory, { recursive: true });
	const limit = AbortSignal.any([signal, AbortSignal.timeout(withinMs)]);
	// A workspace above would bring versions of its own.
	const env = { ...environ, GOWORK: "off" };
	const go = (...args: string[]) => runGo(args, program.pinnedBy, env, limit);

	if (program.language === "go_and_c") {
		// What it compiles without a C compiler fails late, and does not say why.
		const { printed, problem } = await go("env", "CGO_ENABLED");
		if (problem !== undefined) return { kind: "failed", problem };
		if (printed.trim() !== "1")
			return { kind: "failed", problem: NO_C_COMPILER };
	}
	const { problem } = await go(
		"build",
		// What go.mod and go.sum do not name is an error, not a question to the registry.
		"-mod=readonly",
		"-o",
		executable,
		program.module,
	);
	if (problem !== undefined) return { kind: "failed", problem };
	if (!existsSync(executable))
		return { kind: "failed", problem: `go build made no ${executable}` };
	// Only now: what an interrupted compiler left behind is not taken for the program.
	writeFileSync(installed, "");
	return { kind: "installed", executable };
}

/**
 * Reads the version of a program from the go.mod that pins it, `v1.2.3`.
 *
 * @throws Error when that does not name it.
 */
export function versionOf({ module, pinnedBy }: GoProgram): string {
	const path = join(pinnedBy, "go.mod");
	for (const line of readFileSync(path, "utf8").split("\n")) {
		const [name, version] = line
			.replace(/^require\s/, "")
			.trim()
			.split(/\s+/);
		if (name === module && version !== undefined) return version;
	}
	throw new Error(`${path} has no version of ${module}.`);
}

function placeOf(
	program: GoProgram,
	caches: string,
): Record<"directory" | "executable" | "installed", string> {
	const name = basename(program.module);
	const directory = join(caches, `${name}-${versionOf(program)}`);
	return {
		directory,
		executable: join(directory, name),
		installed: join(directory, "installed"),
	};
}

interface GoRun {
	readonly printed: string;
	/** Why it failed. */
	readonly problem: string | undefined;
}

async function runGo(
	args: readonly string[],
	cwd: string,
	env: NodeJS.ProcessEnv,
	limit: AbortSignal,
): Promise<GoRun> {
	if (limit.aborted) return { printed: "", problem: whyGivenUp(args, limit) };
	const child = spawn("go", args, {
		cwd,
		env,
		stdio: ["ignore", "pipe", "pipe"],
		// With the compilers that it starts it is a group, which ends as one.
		detached: true,
	});
	const giveUp = () => killGroup(child);
	limit.addEventListener("abort", giveUp);
	let printed = "";
	let complained = "";
	child.stdout.setEncoding("utf8").on("data", (text: string) => {
		printed = lastOf(printed + text);
	});
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		complained = lastOf(complained + text);
	});
	try {
		const [status] = (await once(child, "close")) as [number | null];
		if (status === 0) return { printed, problem: undefined };
		const problem = limit.aborted
			? whyGivenUp(args, limit)
			: (readComplaint(complained) ?? `go ${args[0]} ended with ${status}`);
		return { printed, problem };
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		return { printed, problem: code === "ENOENT" ? NO_GO : message };
	} finally {
		limit.removeEventListener("abort", giveUp);
	}
}

/** While its exit was not read, its number is nobody else's. */
function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
	if (pid === undefined || exitCode !== null || signalCode !== null) return;
	try {
		process.kill(-pid, "SIGKILL");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
	}
}

function whyGivenUp(args: readonly string[], limit: AbortSignal): string {
	return (limit.reason as Error).name === "TimeoutError"
		? `go ${args[0]} was not done in time, and was ended; what it had compiled is kept, so try again`
		: `go ${args[0]} was interrupted`;
}

function lastOf(text: string): string {
	return text.slice(-KEPT_CHARACTERS);
}

const NO_GO =
	"there is no go on PATH; it comes from https://go.dev/dl or with the system's packages";
const NO_C_COMPILER =
	"it contains C code, and `go env CGO_ENABLED` is not 1: Go has no C compiler here, or shall not use one. Install gcc or clang, and leave CGO_ENABLED unset";

/** Says what to do about what go build complains of; `undefined` when it says nothing. */
export function readComplaint(complained: string): string | undefined {
	const lines = complained
		.split("\n")
		.map((line) => line.trim())
		.filter((line) => line !== "" && !/^go: downloading /.test(line));
	const tooOld =
		/requires go >= (?<needed>[\w.]+) \(running go (?<here>[\w.]+)/.exec(
			complained,
		);
	if (tooOld?.groups) {
		const { needed, here } = tooOld.groups;
		return `it needs Go ${needed}, and here is ${here}. Install that, or have Go fetch it with GOTOOLCHAIN=auto where it reaches its registry`;
	}
	if (/C compiler "[^"]*" not found|cgo: exec /.test(complained))
		return `it contains C code, and its C compiler is not found: ${lines.at(-1)}. Install gcc or clang, or say with CC which it is`;
	const unreached = lines.find((line) =>
		/\bdial tcp\b|module lookup disabled|i\/o timeout|TLS handshake/.test(line),
	);
	if (unreached !== undefined)
		return `Go does not reach its registry (go env GOPROXY): ${unreached}`;
	const mismatch = lines.find((line) => line.includes("checksum mismatch"));
	if (mismatch !== undefined)
		return `what the registry (go env GOPROXY) has is not what is pinned in go.sum: ${mismatch}`;
	if (lines.length === 0) return undefined;
	// A full stop follows.
	const last = lines.slice(-3).join(" ").replace(/\.$/, "");
	return /: reading https?:\S+: 40[13] /.test(last)
		? `Go's registry (go env GOPROXY) refuses it: ${last}`
		: last;
}
