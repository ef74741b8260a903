import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, relative } from "node:path";
import { type Execution, thisExecution } from "@snakepit/core/infrastructure";
import { expect, onTestFinished, test } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import {
	findNode,
	startWatchdog,
} from "../../src/watchdog/watchdog-process.ts";

/** A program that starts itself again if that is what its executable does. */
const COPY = join(import.meta.dirname, "copied-program.ts");
const LIMIT_MS = 60_000;

function temporaryDirectory(): string {
	const directory = mkdtempSync(join(tmpdir(), "node-executable-"));
	onTestFinished(() => removeDirectory(directory));
	return directory;
}

/** A directory with an executable `node`, which is a script. */
function scriptIn(root: string, name: string, lines: string): string {
	const directory = join(root, name);
	mkdirSync(directory);
	writeFileSync(join(directory, "node"), `#!/bin/sh\n${lines}\n`);
	chmodSync(join(directory, "node"), 0o755);
	return directory;
}

const says = (versions: object): string =>
	`echo '${JSON.stringify({ execPath: "/nowhere/node", versions })}'`;

/** The executable is the program itself, and no Node. */
function itself(directory: string): Execution {
	const execPath = join(directory, "node");
	writeFileSync(execPath, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
	return { ...thisExecution(), isSea: true, execPath };
}

/** As a single executable application does: whatever its arguments are, it runs the program. */
function copyOfAProgram(directory: string): string {
	const started = join(directory, "started");
	const run = `exec '${process.execPath}' --conditions=snakepit-source '${COPY}' '${join(directory, "went-on")}'`;
	return scriptIn(directory, "copy", `echo >> '${started}'\n${run}`);
}

test("a program that Node runs from a file needs no other Node, and none is asked", async () => {
	const execution = { ...thisExecution(), execPath: "/a/node" };
	expect(await findNode({ named: undefined, execution, path: undefined })).toBe(
		"/a/node",
	);
});

test.each(["Bun", "Deno", "Electron"] as const)(
	"%s has a version of Node, and is not started as Node",
	async (runtime) => {
		const execution = { ...thisExecution(), runtime };
		const none = findNode({ named: undefined, execution, path: "" });
		await expect(none).rejects.toThrow(
			`This program is run by ${runtime}, and no Node was found in PATH. Install Node 22 or newer`,
		);
	},
);

test("an executable that is the program itself is not started as Node: the first in PATH that proves to be one is, by the path that it says", async () => {
	const directory = temporaryDirectory();
	const execution = itself(directory);
	const link = join(directory, "link");
	mkdirSync(link);
	symlinkSync(execution.execPath, join(link, "node"));
	const planted = scriptIn(directory, "planted", says({ node: "24.0.0" }));
	const refused = [
		scriptIn(directory, "talks", "echo hello"),
		scriptIn(directory, "fails", "exit 3"),
		scriptIn(directory, "bun", says({ node: "26.3.0", bun: "1.4.5" })),
		scriptIn(directory, "old", says({ node: "20.19.0" })),
		scriptIn(directory, "hangs", "exec sleep 1000"),
		copyOfAProgram(directory),
	];
	const path = [
		directory,
		link,
		relative(process.cwd(), planted),
		"",
		...refused,
	];
	const none = findNode(
		{ named: undefined, execution, path: path.join(delimiter) },
		// The copy of a program is a Node that starts, on a machine that may be busy.
		10_000,
	);
	await expect(none).rejects.toMatchObject({
		name: "ProtectionUnavailable",
		reason: `The watchdog is a program for Node. ${execution.execPath} is this program itself, and no Node was found in PATH (${[
			`${directory}/talks/node is not Node: it did not evaluate an expression`,
			`${directory}/fails/node is not Node (it ended with 3)`,
			`${directory}/bun/node is not Node, but bun`,
			`${directory}/old/node is Node 20.19.0`,
			`${directory}/hangs/node did not answer within 10 s`,
			`${directory}/copy/node is not Node, but a copy of this program`,
		].join("; ")}).`,
	});
	expect(existsSync(join(directory, "went-on"))).toBe(false);

	const shim = scriptIn(directory, "shim", `exec '${process.execPath}' "$@"`);
	const found = await findNode({
		...{ named: undefined, execution },
		path: [shim, dirname(process.execPath)].join(delimiter),
	});
	expect(found).toBe(process.execPath);
});

test("a Node that is named is proven, too", async () => {
	const directory = temporaryDirectory();
	const [execution, path] = [itself(directory), ""];
	const named = process.execPath;
	expect(await findNode({ named, execution, path })).toBe(process.execPath);
	const none = findNode({ named: "/bin/false", execution, path });
	await expect(none).rejects.toThrow(
		'The watchdog\'s option "node" is /bin/false. It is not Node (it ended with 1). Name the executable of a Node 22 or newer.',
	);
});

test(
	"a copy of the program that is started as its watchdog all the same ends before it does anything",
	async () => {
		const directory = temporaryDirectory();
		const copy = join(copyOfAProgram(directory), "node");
		const started = startWatchdog(copy);
		await expect(started.ready).rejects.toThrow(
			`${copy} is not Node, but a copy of this program. Name a Node`,
		);
		expect(await started.exited).toEqual({ kind: "code", code: 87 });
		expect(readFileSync(join(directory, "started"), "utf8")).toBe("\n");
		expect(existsSync(join(directory, "went-on"))).toBe(false);
	},
	LIMIT_MS,
);
