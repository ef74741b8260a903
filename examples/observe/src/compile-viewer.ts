import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A single executable from a public registry with its page inside, which shows
 * traces, metrics and logs and keeps them in memory: there is nothing to set up
 * and nothing to clear away. It needs Go 1.26; its database, a C compiler.
 */
export const VIEWER = "github.com/CtrlSpice/otel-desktop-viewer";

/** Its go.mod and go.sum pin the viewer and everything that is compiled into it. */
const PINS = join(import.meta.dirname, "../viewer");
const CACHES = join(import.meta.dirname, "../../../node_modules/.cache");

export interface CompileOptions {
	/** Aborts the compilation, with all compilers that Go has started. */
	readonly signal: AbortSignal;
	/** Where the compiled viewer is kept. */
	readonly caches?: string;
	readonly environ?: NodeJS.ProcessEnv;
}

/** The viewer cannot be compiled; the message says what to do. */
export class CompileError extends Error {}

/** Returns the version that go.mod pins, `v1.2.3`. */
export function viewerVersion(): string {
	const goMod = readFileSync(join(PINS, "go.mod"), "utf8");
	const version = new RegExp(`${VIEWER} (v\\S+)`).exec(goMod)?.[1];
	if (version === undefined) throw new Error(`go.mod does not name ${VIEWER}.`);
	return version;
}

/** Returns the path of the viewer if it has been compiled before. */
export function compiledViewer(caches: string = CACHES): string | undefined {
	const { executable, complete } = placeIn(caches);
	return existsSync(complete) ? executable : undefined;
}

/**
 * Compiles the viewer, or finds it compiled, which needs no Go. Go's own messages
 * go to standard error.
 *
 * @throws CompileError.
 */
export async function compileViewer({
	signal,
	caches = CACHES,
	environ = process.env,
}: CompileOptions): Promise<string> {
	const found = compiledViewer(caches);
	if (found !== undefined) return found;
	const { directory, executable, complete } = placeIn(caches);
	mkdirSync(directory, { recursive: true });

	const cgo = await go(["env", "CGO_ENABLED"], environ, signal);
	// Without a C compiler `go build` fails late and does not say why.
	if (cgo.trim() !== "1")
		throw new CompileError(
			"The viewer contains C code, and `go env CGO_ENABLED` is not 1. Install gcc or clang, and leave CGO_ENABLED unset.",
		);
	console.error(
		`Compiling ${VIEWER} ${viewerVersion()}, which takes minutes, once`,
	);
	// With -mod=readonly, a module that go.sum does not name is an error.
	const build = ["build", "-mod=readonly", "-o", executable, VIEWER];
	await go(build, environ, signal);
	// Last, so that what an interrupted compiler has left is not used.
	writeFileSync(complete, "");
	return executable;
}

function placeIn(
	caches: string,
): Record<"directory" | "executable" | "complete", string> {
	const directory = join(caches, `otel-desktop-viewer-${viewerVersion()}`);
	return {
		directory,
		executable: join(directory, "otel-desktop-viewer"),
		complete: join(directory, "installed"),
	};
}

/** Runs Go and returns its output. */
async function go(
	args: readonly string[],
	environ: NodeJS.ProcessEnv,
	signal: AbortSignal,
): Promise<string> {
	signal.throwIfAborted();
	const child = spawn("go", args, {
		cwd: PINS,
		// A workspace in a parent directory would bring other versions.
		env: { ...environ, GOWORK: "off" },
		stdio: ["ignore", "pipe", "inherit"],
		// It leads a process group with the compilers that it starts.
		detached: true,
	});
	const kill = () => {
		// Until its exit is read, its pid cannot be another's.
		if (child.pid !== undefined && child.exitCode === null)
			process.kill(-child.pid, "SIGKILL");
	};
	signal.addEventListener("abort", kill);
	try {
		const printed = child.stdout.setEncoding("utf8").toArray();
		const [code] = await once(child, "close");
		signal.throwIfAborted();
		if (code === 0) return (await printed).join("");
		throw new CompileError(
			`The viewer cannot be compiled: go ${args[0]} failed with exit code ${code}; its output is above. It needs Go 1.26, a C compiler, and a module proxy (go env GOPROXY).`,
		);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
		throw new CompileError(
			"The viewer cannot be compiled: there is no go on PATH. Get it from https://go.dev/dl or the system's packages.",
		);
	} finally {
		signal.removeEventListener("abort", kill);
	}
}
