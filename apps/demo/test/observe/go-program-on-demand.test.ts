import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
	type GoProgram,
	type Installation,
	installedGoProgram,
	installGoProgram,
	readComplaint,
} from "../../../../scripts/go-program-on-demand.ts";
import { listen } from "../otlp/listen.ts";
import {
	fakeGo,
	goWithRegistryOf,
	hasGo,
	newDirectory,
} from "./go-programs.ts";
import { eventually } from "./observation.ts";

const PROGRAM: GoProgram = {
	module: "example.test/program",
	version: "v1.0.0",
	language: "go",
};
/** Go compiles its own library first. */
const LONG_MS = 180_000;

async function install(
	environ: NodeJS.ProcessEnv,
	{
		caches = newDirectory(),
		program = PROGRAM,
		withinMs = LONG_MS,
		signal = new AbortController().signal,
	} = {},
): Promise<Installation> {
	return await installGoProgram(program, { signal, withinMs, caches, environ });
}

async function problemIn(...args: Parameters<typeof install>): Promise<string> {
	const installation = await install(...args);
	if (installation.kind === "installed") throw new Error("It was installed.");
	return installation.problem;
}

/** A go that makes a program of what it is asked for. */
const MAKES = `
[ "$1 $2" = "install example.test/program@v1.0.0" ] || exit 7
echo >>"$GOBIN/asked"
echo '#!/bin/sh' >"$GOBIN/program"
chmod +x "$GOBIN/program"`;

describe("a program of Go", () => {
	test("is compiled into the cache when it is first asked for, and found after that without Go", async () => {
		const caches = newDirectory();
		expect(installedGoProgram(PROGRAM, caches)).toBeUndefined();
		const executable = join(caches, "program-v1.0.0/program");
		const expected = { kind: "installed", executable };
		expect(await install(fakeGo(MAKES), { caches })).toEqual(expected);
		expect(spawnSync(executable).status).toBe(0);
		expect(await install({ PATH: "" }, { caches })).toEqual(expected);
		expect(installedGoProgram(PROGRAM, caches)).toBe(executable);
		const asked = join(caches, "program-v1.0.0/asked");
		expect(readFileSync(asked, "utf8")).toBe("\n");
	});

	test("that an interrupted compiler left behind is compiled again", async () => {
		const caches = newDirectory();
		expect(await problemIn(fakeGo(`${MAKES}\nexit 1`), { caches })).toBe(
			"go install ended with 1",
		);
		const executable = join(caches, "program-v1.0.0/program");
		expect(existsSync(executable)).toBe(true);
		expect(installedGoProgram(PROGRAM, caches)).toBeUndefined();
		expect(await install(fakeGo(MAKES), { caches })).toMatchObject({
			kind: "installed",
		});
	});

	test("that go install does not make is missed", async () => {
		expect(await problemIn(fakeGo("exit 0"))).toMatch(
			/^go install made no .*program-v1\.0\.0\/program$/,
		);
	});

	test("cannot be had without go", async () => {
		expect(await problemIn({ PATH: newDirectory() })).toMatch(
			/^there is no go on PATH/,
		);
	});

	test("that contains C code cannot be had without a C compiler, which is known before anything is compiled", async () => {
		const program: GoProgram = { ...PROGRAM, language: "go_and_c" };
		const caches = newDirectory();
		const environ = fakeGo(
			`if [ "$1 $2" = "env CGO_ENABLED" ]; then echo "$FAKE_CGO"; exit; fi${MAKES}`,
		);
		expect(
			await problemIn({ ...environ, FAKE_CGO: "0" }, { caches, program }),
		).toMatch(/Go has no C compiler here/);
		expect(existsSync(join(caches, "program-v1.0.0/asked"))).toBe(false);
		expect(
			await install({ ...environ, FAKE_CGO: "1" }, { caches, program }),
		).toMatchObject({ kind: "installed" });
	});

	test("that takes too long to compile is given up, with the compilers that go started", async () => {
		const caches = newDirectory();
		// The second one is a compiler: it holds what go would write to.
		const environ = fakeGo(
			'echo $$ >"$GOBIN/pids"; sleep 1000 & echo $! >>"$GOBIN/pids"; wait',
		);
		expect(await problemIn(environ, { caches, withinMs: 3_000 })).toMatch(
			/^go install was not done in time/,
		);
		await noneIsLeft(join(caches, "program-v1.0.0/pids"));
	});

	test("that nobody wants any more is given up, with the compilers that go started", async () => {
		const caches = newDirectory();
		const pids = join(caches, "program-v1.0.0/pids");
		const abort = new AbortController();
		const problem = problemIn(
			fakeGo('sleep 1000 & echo $$ $! >"$GOBIN/pids"; wait'),
			{ caches, signal: abort.signal },
		);
		await eventually(
			() => existsSync(pids) && readPids(pids).length === 2,
			"no go",
		);
		abort.abort();
		expect(await problem).toBe("go install was interrupted");
		await noneIsLeft(pids);
		expect(
			await problemIn(fakeGo(MAKES), { caches, signal: abort.signal }),
		).toBe("go install was interrupted");
	});
});

function readPids(path: string): readonly number[] {
	return (readFileSync(path, "utf8").match(/\d+(?=\s)/g) ?? []).map(Number);
}

async function noneIsLeft(path: string): Promise<void> {
	const pids = readPids(path);
	expect(pids).toHaveLength(2);
	await eventually(
		() => pids.every((pid) => spawnSync("kill", ["-0", `${pid}`]).status !== 0),
		`of ${pids} one is left`,
	);
}

describe("what go complains of", () => {
	test("is said in three lines where nothing else is known of it", () => {
		expect(
			readComplaint(
				"go: downloading example.test/a v1.0.0\n# example.test/a\n\n./main.go:2:15: undefined: b\n",
			),
		).toBe("# example.test/a ./main.go:2:15: undefined: b");
		expect(readComplaint("a\nb\nc\nd\n")).toBe("b c d");
		expect(readComplaint("A sentence.\n")).toBe("A sentence");
		expect(readComplaint("")).toBeUndefined();
	});

	test("is its age, also when it could not fetch a newer one", () => {
		const complaint =
			"go: go: example.test/a@v1.0.0 requires go >= 1.26 (running go 1.24.1)\ngo: go: switching to go >= 1.26: module golang.org/toolchain: dial tcp: lookup proxy.golang.org: no such host\n";
		expect(readComplaint(complaint)).toMatch(
			/^it needs Go 1\.26, and here is 1\.24\.1\./,
		);
	});
});

describe.skipIf(!hasGo())("the real Go", () => {
	const MAIN = 'package main\n\nfunc main() { println("here") }\n';
	const WITH_C =
		'package main\n\n// int here(void) { return 7; }\nimport "C"\n\nfunc main() { println(C.here()) }\n';
	const cProgram: GoProgram = { ...PROGRAM, language: "go_and_c" };

	test(
		"compiles a program from a registry",
		async () => {
			const installation = await install(goWithRegistryOf(MAIN));
			if (installation.kind !== "installed")
				throw new Error(installation.problem);
			const { stderr } = spawnSync(installation.executable, {
				encoding: "utf8",
			});
			expect(stderr).toBe("here\n");
		},
		LONG_MS,
	);

	test(
		"says that it is too old",
		async () => {
			expect(await problemIn(goWithRegistryOf(MAIN, "go 1.999"))).toMatch(
				/^it needs Go 1\.999, and here is 1\.[\d.]+\. Install that/,
			);
		},
		LONG_MS,
	);

	test(
		"says that it shall not use a C compiler",
		async () => {
			const environ = { ...goWithRegistryOf(WITH_C), CGO_ENABLED: "0" };
			expect(await problemIn(environ, { program: cProgram })).toMatch(
				/Go has no C compiler here, or shall not use one/,
			);
		},
		LONG_MS,
	);

	test(
		"says that there is no such C compiler",
		async () => {
			const environ = {
				...goWithRegistryOf(WITH_C),
				CGO_ENABLED: "1",
				CC: "no-such-compiler",
			};
			expect(await problemIn(environ, { program: cProgram })).toMatch(
				/its C compiler is not found: .*"no-such-compiler"/,
			);
		},
		LONG_MS,
	);

	test.each(["off", "http://127.0.0.1:1"])(
		"says that it does not reach its registry: GOPROXY=%s",
		async (GOPROXY) => {
			expect(await problemIn({ ...goWithRegistryOf(MAIN), GOPROXY })).toMatch(
				/^Go does not reach its registry \(go env GOPROXY\): go: example/,
			);
		},
		LONG_MS,
	);

	test(
		"says that its registry refuses it",
		async () => {
			const registry = createServer((_, response) =>
				response
					.writeHead(403, { "content-type": "text/plain" })
					.end("This is not to be had here.\n"),
			);
			const GOPROXY = await listen(registry);
			expect(await problemIn({ ...goWithRegistryOf(MAIN), GOPROXY })).toMatch(
				/^Go's registry \(go env GOPROXY\) refuses it: .*: 403 Forbidden server response: This is not to be had here$/,
			);
		},
		LONG_MS,
	);

	test(
		"says what does not compile",
		async () => {
			expect(
				await problemIn(
					goWithRegistryOf("package main\n\nfunc main() { nothing }\n"),
				),
			).toMatch(/undefined: nothing$/);
		},
		LONG_MS,
	);
});
