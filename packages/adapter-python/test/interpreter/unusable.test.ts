import {
	chmodSync,
	mkdirSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	chooseInterpreter,
	requireBridge,
} from "../../src/interpreter/choose-interpreter.ts";
import { namedSource } from "../../src/interpreter/interpreter-sources.ts";
import { failureOf } from "../support/calls.ts";
import { fakePython, programThatPrints } from "../support/fake-python.ts";
import { machine } from "../support/machine.ts";

/** A machine on which another Python would be found, and an environment of some name. */
function withAnother() {
	const made = machine();
	fakePython(join(made.bin, "python3"), "3.12.1");
	const directory = join(made.root, "active");
	made.env["VIRTUAL_ENV"] = directory;
	return { ...made, directory, python: join(directory, "bin/python") };
}

const unusable = (says: string) => ({
	code: "PYTHON_UNUSABLE",
	ran: "no",
	message: expect.stringContaining(says),
});

test("VIRTUAL_ENV that names no directory is an error that names it, with the ways out", async () => {
	const { choose, directory } = withAnother();
	const error = await failureOf(choose());
	expect(error).toMatchObject(
		unusable(
			`VIRTUAL_ENV is ${directory}, but there is no ${directory}/bin/python (${directory} does not exist).`,
		),
	);
	expect(String(error)).toContain("Snakepit does not fall back to another one");
	expect(String(error)).toContain(`python3 -m venv --clear ${directory}`);
	expect(String(error)).toContain("unset VIRTUAL_ENV");
});

test("VIRTUAL_ENV whose base Python was removed is an error that names the missing one", async () => {
	const { choose, directory, python, root } = withAnother();
	mkdirSync(join(directory, "bin"), { recursive: true });
	symlinkSync("python3", python);
	symlinkSync(join(root, "gone/python3"), join(directory, "bin/python3"));
	expect(await failureOf(choose())).toMatchObject(
		unusable(`(${root}/gone does not exist)`),
	);
});

test("VIRTUAL_ENV whose Python leads round in links is an error", async () => {
	const { choose, directory, python } = withAnother();
	mkdirSync(join(directory, "bin"), { recursive: true });
	symlinkSync("python3", python);
	symlinkSync("python", join(directory, "bin/python3"));
	expect(await failureOf(choose())).toMatchObject(unusable("there is no"));
});

test("VIRTUAL_ENV whose Python does not run is an error with what it said", async () => {
	const { choose, directory, python } = withAnother();
	programThatPrints(python, "", 3);
	expect(await failureOf(choose())).toMatchObject(
		unusable(`VIRTUAL_ENV is ${directory}, but ${python}: exit code 3`),
	);
});

test("a Python that does not run with a PYTHONHOME is an error that says to leave that out", async () => {
	const { choose, env, python } = withAnother();
	programThatPrints(python, "", 1);
	env["PYTHONHOME"] = "/nowhere";
	expect(await failureOf(choose())).toMatchObject(
		unusable(
			"Leave PYTHONHOME (/nowhere) out of its environment (env: { PYTHONHOME: undefined }), ",
		),
	);
});

test("a Python that has no bridge because of PYTHONHOME is an error that says to leave that out", async () => {
	const { choose, env, bin } = machine();
	fakePython(join(bin, "python3"), "3.12.1", { prefix: "/usr" });
	env["PYTHONHOME"] = "/usr";
	const choice = { ...(await choose()), bridge: undefined };
	const required = async () => requireBridge(choice);
	expect(await failureOf(required())).toMatchObject({
		code: "BRIDGE_MISSING",
		message: expect.stringContaining(
			"With PYTHONHOME, it uses the packages below /usr. Leave PYTHONHOME (/usr) out of its environment (env: { PYTHONHOME: undefined }). Otherwise, install it there:",
		),
	});
	env["PYTHONHOME"] = "/tmp";
	expect((await choose()).home).toBe(undefined);
});

test("VIRTUAL_ENV whose Python runs as another one is an error: it would see other packages", async () => {
	const { choose, directory, python } = withAnother();
	fakePython(python, "3.12.1", { prefix: "/usr" });
	expect(await failureOf(choose())).toMatchObject(
		unusable(
			`its Python uses the packages of /usr instead, because there is no ${directory}/pyvenv.cfg`,
		),
	);
	writeFileSync(join(directory, "pyvenv.cfg"), "home = /usr/bin\n");
	expect(await failureOf(choose())).toMatchObject(
		unusable("is PYTHONHOME set?"),
	);
});

test("an empty VIRTUAL_ENV is none", async () => {
	const { choose, env } = withAnother();
	env["VIRTUAL_ENV"] = "";
	expect(await choose()).toMatchObject({ reason: "it is python3 in PATH" });
});

test.each([
	[
		"whose base Python was removed",
		(venv: string) => {
			mkdirSync(join(venv, "bin"), { recursive: true });
			symlinkSync("/nowhere/python3", join(venv, "bin/python"));
		},
	],
	[
		"that is half made",
		(venv: string) => {
			mkdirSync(venv);
			writeFileSync(join(venv, "pyvenv.cfg"), "home = /usr/bin\n");
		},
	],
])(
	"a .venv %s is an error: nothing is taken in its place",
	async (_how, make) => {
		const { choose, env, root } = withAnother();
		delete env["VIRTUAL_ENV"];
		const venv = join(root, "project/.venv");
		make(venv);
		const error = await failureOf(choose());
		expect(error).toMatchObject(unusable(`.venv is in ${root}/project`));
		expect(String(error)).toContain("- VIRTUAL_ENV is not set");
		rmSync(venv, { recursive: true });
		expect(await choose()).toMatchObject({ reason: "it is python3 in PATH" });
	},
);

/** A Python that is named by its path, as the option `python` does. */
function chooseNamed(path: string, cwd: string) {
	const setting = { env: { PATH: "/usr/bin:/bin" }, cwd };
	const source = namedSource(path, "the option names it", setting);
	return chooseInterpreter([source], setting, new AbortController().signal);
}

test("a program that is not executable is an error with the command that makes it executable", async () => {
	const { root } = machine();
	const program = programThatPrints(join(root, "wrapper"), "");
	chmodSync(program, 0o644);
	const error = await failureOf(chooseNamed(program, root));
	expect(error).toMatchObject(
		unusable(`${program} is not executable for anybody`),
	);
	expect(String(error)).toContain(`chmod +x ${program}`);
	expect(String(error)).not.toContain("that this user may enter, not below");
});

test("a directory in place of a Python is an error that says so", async () => {
	const { root } = machine();
	const error = await failureOf(chooseNamed(root, root));
	expect(error).toMatchObject(unusable(`${root} is a directory`));
	expect(String(error)).toContain(
		`Name the program in it (for an environment: ${root}/bin/python`,
	);
});

test("a wrapper whose first line names what is not there is an error that says so", async () => {
	const { root } = machine();
	const program = join(root, "wrapper");
	writeFileSync(program, "#!/nowhere/sh\n", { mode: 0o755 });
	expect(await failureOf(chooseNamed(program, root))).toMatchObject(
		unusable(
			`${program} exists, but the program that its first line names does not (ENOENT)`,
		),
	);
});
