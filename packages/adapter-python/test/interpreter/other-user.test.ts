import { execFile, spawnSync } from "node:child_process";
import {
	chmodSync,
	cpSync,
	mkdirSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, type TestContext, test } from "vitest";
import { fakePython, scratch } from "../support/fake-python.ts";
import { BRIDGE } from "../support/pythons.ts";

/** Root may read everything: only another user is refused. Whoever else runs the tests is refused by the mode alone. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const program = fileURLToPath(
	new URL("../programs/choose-as.ts", import.meta.url),
);
const execute = promisify(execFile);

/** A directory that everybody may enter. */
function open(): string {
	const directory = scratch();
	chmodSync(directory, 0o755);
	return directory;
}

async function chooseAsNobody(
	env: Readonly<Record<string, string>>,
	cwd: string,
	tools = "",
	limit = "",
): Promise<Record<string, unknown>> {
	const { stdout } = await execute(
		process.execPath,
		[
			"--conditions=snakepit-source",
			program,
			isRoot ? String(NOBODY) : "",
			JSON.stringify({ env, cwd }),
			tools,
			limit,
		],
		{ cwd: "/" },
	);
	return JSON.parse(stdout);
}

/** A Python of this machine that nobody may run, too; the test is skipped where there is none. */
function commonPython(context: TestContext): {
	readonly path: string;
	readonly minor: string;
} {
	// Elsewhere an environment is not made of a link and a file.
	if (process.platform !== "linux") context.skip();
	const text =
		"import sys; assert sys.version_info >= (3, 10); print(sys.version_info[1])";
	for (const path of ["/usr/bin/python3", "/usr/local/bin/python3"]) {
		const { status, stdout } = spawnSync(path, ["-c", text], {
			encoding: "utf8",
			cwd: "/",
			...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
		});
		if (status === 0) return { path, minor: stdout.trim() };
	}
	context.skip();
	throw new Error("skipped");
}

/** A virtual environment, made by hand: pip is not needed. */
function environment(context: TestContext): {
	readonly directory: string;
	readonly packages: string;
} {
	const { path, minor } = commonPython(context);
	const directory = join(open(), "venv");
	const packages = join(directory, `lib/python3.${minor}/site-packages`);
	mkdirSync(join(directory, "bin"), { recursive: true });
	mkdirSync(packages, { recursive: true });
	symlinkSync(path, join(directory, "bin/python"));
	writeFileSync(
		join(directory, "pyvenv.cfg"),
		`home = ${join(path, "..")}\ninclude-system-site-packages = false\n`,
	);
	return { directory, packages };
}

const refused = (...parts: string[]) => ({
	code: "PYTHON_UNUSABLE",
	message: expect.stringMatching(new RegExp(parts.join(".*"), "s")),
});
const user = isRoot ? "user \\S+ \\(uid 65534\\)|user with uid 65534" : "user ";
const whom = `(?:${user})`;

test("VIRTUAL_ENV in a directory that this user may not enter names user, directory and remedy", async () => {
	const root = open();
	const closed = join(root, "home");
	fakePython(join(closed, "venv/bin/python"), "3.12.1");
	chmodSync(closed, isRoot ? 0o700 : 0o000);
	const env = { VIRTUAL_ENV: join(closed, "venv"), PATH: "/usr/bin:/bin" };
	expect(await chooseAsNobody(env, root)).toMatchObject(
		refused(
			`VIRTUAL_ENV is ${closed}/venv`,
			whom,
			`has no access to ${closed}\\.`,
			`not below ${closed},`,
		),
	);
	chmodSync(closed, 0o755);
});

test("a .venv whose Python lies in another user's home names that home", async () => {
	const root = open();
	const closed = join(root, "home");
	fakePython(join(closed, "python3.12"), "3.12.1");
	mkdirSync(join(root, "project/.venv/bin"), { recursive: true });
	symlinkSync(
		join(closed, "python3.12"),
		join(root, "project/.venv/bin/python"),
	);
	chmodSync(closed, isRoot ? 0o700 : 0o000);
	const found = await chooseAsNobody({ PATH: "/bin" }, join(root, "project"));
	expect(found).toMatchObject(
		refused(".venv is in .*project", whom, `has no access to ${closed}\\.`),
	);
	chmodSync(closed, 0o755);
});

test("a .venv that cannot be searched for does not stop the start", async () => {
	const root = open();
	const closed = join(root, "home");
	mkdirSync(join(closed, "project"), { recursive: true });
	fakePython(join(root, "bin/python3"), "3.12.1");
	chmodSync(closed, isRoot ? 0o700 : 0o000);
	// It was started there before it became another user.
	const found = await chooseAsNobody(
		{ PATH: `${join(root, "bin")}:/bin` },
		join(closed, "project"),
	).finally(() => chmodSync(closed, 0o755));
	expect(JSON.stringify(found)).toContain("cannot be looked for");
});

test("a pyvenv.cfg that this user may not read is found: Python would run without the environment", async (context) => {
	const { directory } = environment(context);
	chmodSync(join(directory, "pyvenv.cfg"), isRoot ? 0o600 : 0o000);
	const env = { VIRTUAL_ENV: directory, PATH: "/usr/bin:/bin" };
	expect(await chooseAsNobody(env, "/")).toMatchObject(
		refused(
			`VIRTUAL_ENV is ${directory}`,
			whom,
			`has no access to ${directory}/pyvenv.cfg`,
			`chmod -R a\\+rX ${directory}`,
		),
	);
});

test.for([
	["the packages", ""],
	["the bridge", "snakepit_bridge"],
	["a file of the bridge", "snakepit_bridge/_version.py"],
	["a .pth file", "editable.pth"],
])(
	"an environment of which this user may not read %s is not taken for one without the bridge",
	async ([, file = ""], context) => {
		const { directory, packages } = environment(context);
		cpSync(BRIDGE, join(packages, "snakepit_bridge"), { recursive: true });
		writeFileSync(join(packages, "editable.pth"), "/nowhere\n");
		const env = { VIRTUAL_ENV: directory, PATH: "/usr/bin:/bin" };
		expect(await chooseAsNobody(env, "/")).toMatchObject({
			reason: `VIRTUAL_ENV is ${directory}`,
		});
		if (file === "editable.pth")
			chmodSync(join(packages, "snakepit_bridge"), isRoot ? 0o700 : 0o000);
		const closed = join(packages, file);
		chmodSync(closed, isRoot ? 0o700 : 0o000);
		const found = await chooseAsNobody(env, "/");
		chmodSync(closed, 0o755);
		chmodSync(join(packages, "snakepit_bridge"), 0o755);
		expect(found).toMatchObject(
			refused("cannot find snakepit_bridge", whom, `may not read .*${closed}`),
		);
	},
);

test("tools that this user may not read are not reported as missing", async () => {
	const closed = open();
	const tools = join(closed, "tools.py");
	writeFileSync(tools, "");
	chmodSync(closed, isRoot ? 0o700 : 0o000);
	const found = await chooseAsNobody({}, "/", tools);
	chmodSync(closed, 0o755);
	expect(found).toMatchObject({
		code: "TOOLS_IMPORT_FAILED",
		message: expect.stringMatching(
			new RegExp(`${whom} has no access to ${closed}`),
		),
	});
});

const hasPrlimit = spawnSync("prlimit", ["--version"]).status === 0;

test.runIf(isRoot && hasPrlimit)(
	"where no process can be started, the limit is named, and not the Python",
	async (context) => {
		const { path } = commonPython(context);
		const env = { SNAKEPIT_PYTHON: path, PATH: join(path, "..") };
		const outcome = await chooseAsNobody(env, open(), "", "no-processes");
		expect(outcome).toMatchObject({
			code: "SPAWN_FAILED",
			message: expect.stringMatching(/EAGAIN.*limit of processes/),
		});
	},
);
