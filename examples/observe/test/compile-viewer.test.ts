import {
	existsSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	watch,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import {
	compiledViewer,
	compileViewer,
	VIEWER,
	viewerVersion,
} from "../src/compile-viewer.ts";
import { DEADLINE_MS, eventually, isAlive } from "./observation.ts";

vi.setConfig({ testTimeout: DEADLINE_MS });

function newDirectory(): string {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-go-"));
	onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
	return directory;
}

/** Returns an environment in which `go` is a shell script that answers `go env CGO_ENABLED` with `cgo`. */
function fakeGo(build: string, cgo = "1"): NodeJS.ProcessEnv {
	const directory = newDirectory();
	writeFileSync(
		join(directory, "go"),
		`#!/bin/sh\n[ "$1" = env ] && echo ${cgo} && exit\n${build}\n`,
		{ mode: 0o755 },
	);
	const PATH = [directory, process.env["PATH"]].join(delimiter);
	return { ...process.env, PATH };
}

const COMPILES = `
[ "$1 $2 $3 $5" = "build -mod=readonly -o ${VIEWER}" ] || exit 7
grep -q ${VIEWER} go.mod || exit 8
echo '#!/bin/sh' >"$4"; chmod +x "$4"`;

const signal = new AbortController().signal;

test("the viewer is compiled into the cache once, and found there without Go", async () => {
	const caches = newDirectory();
	expect(compiledViewer(caches)).toBeUndefined();
	const environ = fakeGo(COMPILES);
	const executable = await compileViewer({ signal, caches, environ });
	expect(executable.startsWith(caches)).toBe(true);
	expect(existsSync(executable)).toBe(true);
	const without = { PATH: "" };
	expect(await compileViewer({ signal, caches, environ: without })).toBe(
		executable,
	);
});

test("what an interrupted compiler has left is compiled again", async () => {
	const caches = newDirectory();
	const fails = fakeGo(`${COMPILES}\nexit 1`);
	await expect(
		compileViewer({ signal, caches, environ: fails }),
	).rejects.toThrow("go build failed with exit code 1");
	expect(compiledViewer(caches)).toBeUndefined();
	await compileViewer({ signal, caches, environ: fakeGo(COMPILES) });
	expect(compiledViewer(caches)).toBeDefined();
});

test("without Go or without a C compiler, the error says what to install", async () => {
	const caches = newDirectory();
	await expect(
		compileViewer({ signal, caches, environ: { PATH: newDirectory() } }),
	).rejects.toThrow("no go on PATH");
	await expect(
		compileViewer({ signal, caches, environ: fakeGo("exit 9", "0") }),
	).rejects.toThrow("Install gcc or clang");
});

test("aborting ends Go and the compilers that it has started", async () => {
	const caches = newDirectory();
	const pids = join(newDirectory(), "pids");
	writeFileSync(pids, "");
	const abort = new AbortController();
	// Only when both pids are there is the compilation aborted.
	const watcher = watch(pids, () => {
		if (readFileSync(pids, "utf8").endsWith("\n")) abort.abort();
	});
	onTestFinished(() => watcher.close());
	const environ = fakeGo(`sleep 1000 & echo $$ $! >${pids}; wait`);
	await expect(
		compileViewer({ signal: abort.signal, caches, environ }),
	).rejects.toThrow("abort");
	const started = readFileSync(pids, "utf8").split(" ").map(Number);
	expect(started).toHaveLength(2);
	await eventually(() => !started.some(isAlive), `of ${started} one is alive`);
});

test("go.mod and go.sum pin the viewer and everything that is compiled into it", () => {
	const pins = join(import.meta.dirname, "../viewer");
	const sums = readFileSync(join(pins, "go.sum"), "utf8");
	const required = [
		...readFileSync(join(pins, "go.mod"), "utf8").matchAll(
			/^(?:require )?\s*(\S+) (v\S+)/gm,
		),
	].map(([, name, version]) => `${name} ${version}`);
	expect(required).toContain(`${VIEWER} ${viewerVersion()}`);
	for (const each of required) expect(sums).toContain(`${each}/go.mod h1:`);
	expect(sums).toContain(`${VIEWER} ${viewerVersion()} h1:`);
});
