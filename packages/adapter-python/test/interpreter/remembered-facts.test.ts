import {
	appendFileSync,
	chmodSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cacheDirectory } from "../../src/environment/python-environment.ts";
import { VERSION } from "../../src/gen/version.ts";
import { chooseInterpreter } from "../../src/interpreter/choose-interpreter.ts";
import type { InterpreterFacts } from "../../src/interpreter/interpreter.ts";
import { namedSource } from "../../src/interpreter/interpreter-sources.ts";
import {
	probeInterpreter,
	RememberedFacts,
} from "../../src/interpreter/probe.ts";
import { scratch } from "../support/fake-python.ts";
import { PYTHON } from "../support/pythons.ts";

type Written = Parameters<RememberedFacts["write"]>;

/** By then all that a test made is settled: no test waits for that. */
const LATER_MS = Date.now() + 3_600_000;

/** A Python with a bridge of the test's own, whose report is remembered. */
async function remembered(): Promise<{
	readonly root: string;
	readonly env: Record<string, string | undefined>;
	readonly cache: string;
	readonly facts: InterpreterFacts;
	readonly read: () => InterpreterFacts | undefined;
}> {
	const root = scratch();
	const cache = join(root, "cache");
	const first = join(root, "first");
	mkdirSync(cache, { mode: 0o700 });
	mkdirSync(first);
	mkdirSync(join(root, "packages/snakepit_bridge"), { recursive: true });
	writeFileSync(join(root, "packages/snakepit_bridge/__init__.py"), "");
	writeFileSync(
		join(root, "packages/snakepit_bridge/_version.py"),
		`__version__ = "${VERSION}"\n`,
	);
	const env: Record<string, string | undefined> = {
		PATH: process.env["PATH"],
		PYTHONPATH: `${first}:${join(root, "packages")}:${join(root, "absent")}`,
	};
	const setting = { env, cwd: root };
	const { signal } = new AbortController();
	const facts = await probeInterpreter(PYTHON, { ...setting, signal });
	if (typeof facts === "string") throw new Error(facts);
	const memory = new RememberedFacts(cache);
	memory.write(PYTHON, setting, facts, LATER_MS);
	return { root, env, cache, facts, read: () => memory.read(PYTHON, setting) };
}

test("what is remembered is in the user's cache: where XDG_CACHE_HOME says, private to the user", () => {
	const root = scratch();
	const env = { XDG_CACHE_HOME: join(root, "cache") };
	const directory = cacheDirectory("interpreters", env);
	expect(directory).toBe(join(root, "cache/snakepit/interpreters"));
	expect(statSync(directory).mode & 0o777).toBe(0o700);
});

test("what an interpreter reported is remembered, in a file that only this user can read", async () => {
	const { cache, facts, read } = await remembered();
	expect(facts.bridge).toBe(VERSION);
	expect(read()).toEqual({ ...facts, environment: {} });
	const [name = ""] = readdirSync(cache);
	expect(statSync(join(cache, name)).mode & 0o777).toBe(0o600);
	expect(readFileSync(join(cache, name), "utf8")).not.toContain('"PATH"');
});

test.each<[string, (root: string) => void]>([
	[
		"another release of the bridge",
		(root) =>
			writeFileSync(
				join(root, "packages/snakepit_bridge/_version.py"),
				'__version__ = "99.0.0"\n',
			),
	],
	[
		"no bridge",
		(root) =>
			rmSync(join(root, "packages/snakepit_bridge"), { recursive: true }),
	],
	[
		"a bridge in a directory that comes first",
		(root) => mkdirSync(join(root, "first/snakepit_bridge")),
	],
	[
		"a directory of packages that did not exist",
		(root) => mkdirSync(join(root, "absent")),
	],
	[
		"a directory of packages with other rights",
		(root) => chmodSync(join(root, "packages"), 0o700),
	],
	[
		"a link that leads elsewhere",
		(root) => {
			rmSync(join(root, "first"), { recursive: true });
			symlinkSync(join(root, "cache"), join(root, "first"));
		},
	],
])("with %s, the interpreter is asked again", async (_what, change) => {
	const { root, read } = await remembered();
	expect(read()).toBeDefined();
	change(root);
	expect(read()).toBeUndefined();
});

test("with another value of a variable that Python reads, it is asked again", async () => {
	const { root, env, read } = await remembered();
	env["TERM"] = "another";
	expect(read()).toBeDefined();
	env["PYTHONPATH"] = root;
	expect(read()).toBeUndefined();
});

test("a file that others can write or that is damaged is not used", async () => {
	const { cache, read } = await remembered();
	const path = join(cache, readdirSync(cache)[0] ?? "");
	chmodSync(path, 0o622);
	expect(read()).toBeUndefined();
	chmodSync(path, 0o600);
	expect(read()).toBeDefined();
	appendFileSync(path, "}");
	expect(read()).toBeUndefined();
});

test("what changed while the interpreter was asked is not remembered", async () => {
	const { root, env, cache, facts } = await remembered();
	rmSync(join(cache, readdirSync(cache)[0] ?? ""));
	const memory = new RememberedFacts(cache);
	memory.write(PYTHON, { env, cwd: root }, facts, Date.now());
	expect(readdirSync(cache)).toEqual([]);
});

test("the choice asks an interpreter once, and one that is refused each time", async () => {
	const { root, env, cache } = await remembered();
	const log = join(root, "log");
	writeFileSync(
		join(root, "first/sitecustomize.py"),
		`open(${JSON.stringify(log)}, "a").write("asked\\n")\n`,
	);
	class Settled extends RememberedFacts {
		override write(...[program, setting, facts]: Written): void {
			super.write(program, setting, facts, LATER_MS);
		}
	}
	const setting = { env, cwd: root };
	const choose = () =>
		chooseInterpreter(
			[namedSource(PYTHON, "the test names it", setting)],
			setting,
			new AbortController().signal,
			new Settled(cache),
		);
	const asked = () => readFileSync(log, "utf8").split("\n").length - 1;
	const first = await choose();
	expect(await choose()).toEqual(first);
	expect(asked()).toBe(1);
	writeFileSync(
		join(root, "packages/snakepit_bridge/_version.py"),
		'__version__ = "99.0.0"\n',
	);
	for (const times of [2, 3]) {
		expect((await choose()).bridge).toBe("99.0.0");
		expect(asked()).toBe(times);
	}
});

test("what cannot be looked at is not remembered, and fails nothing", async () => {
	const { root, cache, facts } = await remembered();
	const loop = join(root, "loop");
	symlinkSync(loop, loop);
	const memory = new RememberedFacts(cache);
	const setting = { env: {}, cwd: root };
	const watched = [...facts.watched, loop];
	memory.write(PYTHON, setting, { ...facts, watched }, LATER_MS);
	expect(memory.read(PYTHON, setting)).toBeUndefined();
});
