import {
	chmodSync,
	lchownSync,
	mkdirSync,
	renameSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { chooseInterpreter } from "../../src/interpreter/choose-interpreter.ts";
import { namedSources } from "../../src/interpreter/interpreter.ts";
import { usualSources } from "../../src/interpreter/interpreter-sources.ts";
import { resolveOptions } from "../../src/resolve-options.ts";
import { fakePython, programThatRuns } from "../support/fake-python.ts";
import { machine } from "../support/machine.ts";

const STRANGER = 65_534;
const isRoot = process.getuid?.() === 0;

/** A file of tools, in a directory that is made. */
function toolsIn(directory: string): string {
	mkdirSync(directory, { recursive: true });
	const path = join(directory, "tools.py");
	writeFileSync(path, "");
	return path;
}

function give(path: string, ...parts: readonly string[]): void {
	for (const part of parts) lchownSync(join(path, part), STRANGER, STRANGER);
}

const ALL = ["", "bin", "bin/python", "pyvenv.cfg"];

describe("from the tools' file upward, where there is none from the working directory on", () => {
	test.each([
		["beside the file", "app/python/tools/.venv"],
		["at the root of a repository of many packages", ".venv"],
	])("an environment %s is found", async (_where, place) => {
		const { root, bin, env } = machine();
		fakePython(join(bin, "python3"), "3.12.1");
		const repository = join(root, "repository");
		const tools = toolsIn(join(repository, "app/python/tools"));
		const wanted = fakePython(join(repository, place, "bin/python"), "3.11.0");
		// An MCP client, for example, starts in the root of the system.
		const setting = { env, cwd: "/" };
		const options = resolveOptions({ tools });
		const choice = await chooseInterpreter(
			namedSources(options, setting),
			setting,
			new AbortController().signal,
		);
		expect(choice).toMatchObject({
			program: wanted,
			reason: `.venv is in ${dirname(join(repository, place))}, found from the tools upward`,
		});
	});

	test("a link leads to the environment of its target, and a module to that of its path", async () => {
		const { root, env } = machine();
		const target = toolsIn(join(root, "target"));
		const wanted = fakePython(join(root, "target/.venv/bin/python"), "3.11.0");
		const link = join(root, "link.py");
		symlinkSync(target, link);
		const setting = { env, cwd: "/" };
		for (const tools of [link, { module: "m", path: join(root, "target") }]) {
			const sources = namedSources(resolveOptions({ tools }), setting);
			const { signal } = new AbortController();
			expect(await chooseInterpreter(sources, setting, signal)).toMatchObject({
				program: wanted,
			});
		}
	});

	test("the one of the working directory comes first, and if there is none the choice names all places", async () => {
		const { root, bin, cwd, env } = machine();
		const tools = toolsIn(join(root, "elsewhere"));
		const { signal } = new AbortController();
		const setting = { env, cwd };
		const choose = () =>
			chooseInterpreter(usualSources(setting, [tools]), setting, signal);
		fakePython(join(bin, "python3"), "3.12.1");
		expect((await choose()).passedOver).toContain(
			`no .venv in ${cwd} or ${root}/elsewhere or above them`,
		);
		fakePython(join(root, "elsewhere/.venv/bin/python"), "3.11.0");
		const first = fakePython(join(root, "project/.venv/bin/python"), "3.12.0");
		expect(await choose()).toMatchObject({
			program: first,
			reason: `.venv is in ${root}/project`,
		});
	});
});

// Only root can give files to somebody else.
describe.runIf(isRoot)("an environment that somebody else has planted", () => {
	let made: ReturnType<typeof machine>;
	let python3: string;
	/** A directory in which all users may write, like /tmp, above the project. */
	let shared: string;
	let planted: string;

	beforeEach(() => {
		made = machine();
		python3 = fakePython(join(made.bin, "python3"), "3.12.1");
		shared = made.root;
		chmodSync(shared, 0o1777);
		planted = join(shared, ".venv");
		fakePython(join(planted, "bin/python"), "3.11.0");
		writeFileSync(join(planted, "pyvenv.cfg"), "");
	});

	const choose = (tools: readonly string[] = []) => {
		const { env, cwd } = made;
		const setting = { env, cwd };
		return chooseInterpreter(
			usualSources(setting, tools),
			setting,
			new AbortController().signal,
		);
	};

	test.each([
		["all of it", ALL, ""],
		["its Python", ["bin/python"], "/bin/python"],
		["its directory of programs", ["bin"], "/bin"],
		["its configuration", ["pyvenv.cfg"], "/pyvenv.cfg"],
	])("is not run if %s is theirs, and named", async (_what, parts, part) => {
		give(planted, ...parts);
		const choice = await choose();
		expect(choice.program).toBe(python3);
		expect(choice.passedOver.join("\n")).toContain(
			`; ${planted} is ignored: ${planted}${part} belongs to the user with uid ${STRANGER}, and not to user root (uid 0) (to use it, set "python" or VIRTUAL_ENV)`,
		);
	});

	test("is not run if their link leads to it, and is if a link of this user does", async () => {
		const real = join(shared, "real");
		renameSync(planted, real);
		symlinkSync(real, planted);
		give(planted, "");
		expect((await choose()).program).toBe(python3);
		lchownSync(planted, 0, 0);
		give(real, ...ALL);
		expect((await choose()).program).toBe(join(planted, "bin/python"));
	});

	test("does not hide the one above it, whose choice tells of it", async () => {
		give(planted, ...ALL);
		const project = join(made.root, "project/.venv");
		const own = fakePython(join(project, "bin/python"), "3.12.0");
		expect(await choose()).toMatchObject({
			program: own,
			reason: `.venv is in ${made.root}/project`,
		});
		give(project, "", "bin", "bin/python");
		lchownSync(planted, 0, 0);
		for (const part of ALL) lchownSync(join(planted, part), 0, 0);
		expect(await choose()).toMatchObject({
			program: join(planted, "bin/python"),
			reason: expect.stringContaining(`; ${project} is ignored: `),
		});
	});

	test("is run if the tools are theirs, too: those are run anyway", async () => {
		give(planted, ...ALL);
		const tools = toolsIn(join(shared, "theirs"));
		expect((await choose([tools])).program).toBe(python3);
		give(tools, "");
		expect((await choose([tools])).program).toBe(join(planted, "bin/python"));
	});

	test("is not run because uv names it: then uv is asked for one of the system", async () => {
		give(planted, ...ALL);
		const managed = fakePython(join(shared, "managed/python"), "3.13.0");
		programThatRuns(
			join(made.bin, "uv"),
			`if [ "$3" = --system ]; then echo ${managed}; else echo ${planted}/bin/python; fi`,
		);
		expect(await choose()).toMatchObject({
			program: managed,
			reason: expect.stringMatching(
				/^uv python find names it; what uv python find names is ignored: .* belongs to the user with uid 65534/,
			),
		});
		// As a `.python-version` in a directory above may name it.
		give(managed, "");
		expect((await choose()).program).toBe(python3);
		// The user has put its directory in PATH.
		made.env["PATH"] = `${made.env["PATH"]}:${dirname(managed)}`;
		expect((await choose()).program).toBe(managed);
	});
});
