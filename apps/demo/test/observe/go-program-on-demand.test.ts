import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import {
	type GoProgram,
	type Installation,
	installedGoProgram,
	installGoProgram,
	readComplaint,
	versionOf,
} from "../../../../scripts/go-program-on-demand.ts";
import { VIEWER } from "../../src/observe/viewer.ts";
import { listen } from "../otlp/listen.ts";
import {
	fakeGo,
	goWithRegistryOf,
	hasGo,
	newDirectory,
} from "./go-programs.ts";
import { eventually } from "./observation.ts";

const MODULE = "example.test/program";

/** As a go.mod pins it, without what only the real Go reads. */
function fakeProgram(language: GoProgram["language"] = "go"): GoProgram {
	const pinnedBy = newDirectory();
	writeFileSync(join(pinnedBy, "go.mod"), `require ${MODULE} v1.0.0\n`);
	return { module: MODULE, pinnedBy, language };
}
/** Go compiles its own library first. */
const LONG_MS = 180_000;

async function install(
	environ: NodeJS.ProcessEnv,
	{
		caches = newDirectory(),
		program = fakeProgram(),
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
[ "$1 $2 $3 $5" = "build -mod=readonly -o example.test/program" ] || exit 7
grep -q v1.0.0 go.mod || exit 8
echo >>"$(dirname "$4")/asked"
echo '#!/bin/sh' >"$4"
chmod +x "$4"`;

describe("a program of Go", () => {
	test("is compiled into the cache when it is first asked for, and found after that without Go", async () => {
		const caches = newDirectory();
		expect(installedGoProgram(fakeProgram(), caches)).toBeUndefined();
		const executable = join(caches, "program-v1.0.0/program");
		const expected = { kind: "installed", executable };
		expect(await install(fakeGo(MAKES), { caches })).toEqual(expected);
		expect(spawnSync(executable).status).toBe(0);
		expect(await install({ PATH: "" }, { caches })).toEqual(expected);
		expect(installedGoProgram(fakeProgram(), caches)).toBe(executable);
		const asked = join(caches, "program-v1.0.0/asked");
		expect(readFileSync(asked, "utf8")).toBe("\n");
	});

	test("that an interrupted compiler left behind is compiled again", async () => {
		const caches = newDirectory();
		expect(await problemIn(fakeGo(`${MAKES}\nexit 1`), { caches })).toBe(
			"go build ended with 1",
		);
		const executable = join(caches, "program-v1.0.0/program");
		expect(existsSync(executable)).toBe(true);
		expect(installedGoProgram(fakeProgram(), caches)).toBeUndefined();
		expect(await install(fakeGo(MAKES), { caches })).toMatchObject({
			kind: "installed",
		});
	});

	test("that go build does not make is missed", async () => {
		expect(await problemIn(fakeGo("exit 0"))).toMatch(
			/^go build made no .*program-v1\.0\.0\/program$/,
		);
	});

	test("cannot be had without go", async () => {
		expect(await problemIn({ PATH: newDirectory() })).toMatch(
			/^there is no go on PATH/,
		);
	});

	test("that contains C code cannot be had without a C compiler, which is known before anything is compiled", async () => {
		const program = fakeProgram("go_and_c");
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
			'echo $$ >"$(dirname "$4")/pids"; sleep 1000 & echo $! >>"$(dirname "$4")/pids"; wait',
		);
		expect(await problemIn(environ, { caches, withinMs: 3_000 })).toMatch(
			/^go build was not done in time/,
		);
		await noneIsLeft(join(caches, "program-v1.0.0/pids"));
	});

	test("that nobody wants any more is given up, with the compilers that go started", async () => {
		const caches = newDirectory();
		const pids = join(caches, "program-v1.0.0/pids");
		const abort = new AbortController();
		const problem = problemIn(
			fakeGo('sleep 1000 & echo $$ $! >"$(dirname "$4")/pids"; wait'),
			{ caches, signal: abort.signal },
		);
		await eventually(
			() => existsSync(pids) && readPids(pids).length === 2,
			"no go",
		);
		abort.abort();
		expect(await problem).toBe("go build was interrupted");
		await noneIsLeft(pids);
		expect(
			await problemIn(fakeGo(MAKES), { caches, signal: abort.signal }),
		).toBe("go build was interrupted");
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
	/** A program that is to be had where GOPROXY says. */
	function pinned(
		main: string,
		{
			goMod = "go 1.21",
			language = "go",
		}: { goMod?: string; language?: GoProgram["language"] } = {},
	): { program: GoProgram; environ: NodeJS.ProcessEnv } {
		const { environ, pinnedBy } = goWithRegistryOf(main, goMod);
		return { program: { module: MODULE, pinnedBy, language }, environ };
	}

	test(
		"compiles a pinned program from a registry that tells no versions",
		async () => {
			const { program, environ } = pinned(MAIN);
			const asked: string[] = [];
			const registry = createServer(({ url = "" }, response) => {
				asked.push(url);
				const path = join(fileURLToPath(environ["GOPROXY"] ?? ""), url);
				if (/\/@v\/list$|\/@latest$/.test(url) || !existsSync(path))
					response.writeHead(403).end("This is not to be had here.\n");
				else response.end(readFileSync(path));
			});
			const GOPROXY = await listen(registry);
			const installation = await install({ ...environ, GOPROXY }, { program });
			if (installation.kind !== "installed")
				throw new Error(installation.problem);
			const { stderr } = spawnSync(installation.executable, {
				encoding: "utf8",
			});
			expect(stderr).toBe("here\n");
			expect(asked).toContain(`/${MODULE}/@v/v1.0.0.zip`);
		},
		LONG_MS,
	);

	test(
		"compiles nothing else than what is pinned",
		async () => {
			const { program, environ } = pinned(MAIN);
			const sums = join(program.pinnedBy, "go.sum");
			writeFileSync(
				sums,
				readFileSync(sums, "utf8").replace(/h1:...../g, "h1:AAAAA"),
			);
			expect(await problemIn(environ, { program })).toMatch(
				/is not what is pinned in go\.sum: verifying example\.test\/program@v1\.0\.0.*: checksum mismatch$/,
			);
		},
		LONG_MS,
	);

	test(
		"says that it is too old",
		async () => {
			const { program, environ } = pinned(MAIN, { goMod: "go 1.999" });
			expect(await problemIn(environ, { program })).toMatch(
				/^it needs Go 1\.999, and here is 1\.[\d.]+\. Install that/,
			);
		},
		LONG_MS,
	);

	test(
		"says that it shall not use a C compiler",
		async () => {
			const { program, environ } = pinned(WITH_C, { language: "go_and_c" });
			expect(
				await problemIn({ ...environ, CGO_ENABLED: "0" }, { program }),
			).toMatch(/Go has no C compiler here, or shall not use one/);
		},
		LONG_MS,
	);

	test(
		"says that there is no such C compiler",
		async () => {
			const { program, environ } = pinned(WITH_C, { language: "go_and_c" });
			const without = { CGO_ENABLED: "1", CC: "no-such-compiler" };
			expect(await problemIn({ ...environ, ...without }, { program })).toMatch(
				/its C compiler is not found: .*"no-such-compiler"/,
			);
		},
		LONG_MS,
	);

	test.each(["off", "http://127.0.0.1:1"])(
		"says that it does not reach its registry: GOPROXY=%s",
		async (GOPROXY) => {
			const { program, environ } = pinned(MAIN);
			expect(await problemIn({ ...environ, GOPROXY }, { program })).toMatch(
				/^Go does not reach its registry \(go env GOPROXY\): /,
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
			const { program, environ } = pinned(MAIN);
			expect(await problemIn({ ...environ, GOPROXY }, { program })).toMatch(
				/^Go's registry \(go env GOPROXY\) refuses it: .*: 403 Forbidden server response: This is not to be had here$/,
			);
		},
		LONG_MS,
	);

	test(
		"says what does not compile",
		async () => {
			const { program, environ } = pinned(
				"package main\n\nfunc main() { nothing }\n",
			);
			expect(await problemIn(environ, { program })).toMatch(
				/undefined: nothing$/,
			);
		},
		LONG_MS,
	);
});

test("the viewer is pinned with all that is compiled into it", () => {
	const sums = readFileSync(join(VIEWER.pinnedBy, "go.sum"), "utf8");
	const pins = readFileSync(join(VIEWER.pinnedBy, "go.mod"), "utf8");
	const required = [...pins.matchAll(/^(?:require )?\s*(\S+) (v\S+)/gm)].map(
		([, name, version]) => `${name} ${version}`,
	);
	expect(required).toContain(`${VIEWER.module} ${versionOf(VIEWER)}`);
	for (const each of required) expect(sums).toContain(`${each}/go.mod h1:`);
	expect(sums).toContain(`${VIEWER.module} ${versionOf(VIEWER)} h1:`);
});

test("a go.mod that does not name the program is an error", () => {
	const pinnedBy = newDirectory();
	writeFileSync(join(pinnedBy, "go.mod"), "module example.test/other\n");
	expect(() => versionOf({ module: MODULE, pinnedBy, language: "go" })).toThrow(
		`has no version of ${MODULE}`,
	);
});
