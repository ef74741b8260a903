import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
	type PoolOptions,
	type SnakepitEvent,
	StartError,
} from "@snakepit/core";
import { describe, expect, test } from "vitest";
import { rows } from "../../../../scripts/test-effort.ts";
import { testPool } from "../../../../scripts/test-pool.ts";
import { VERSION } from "../../src/gen/version.ts";
import { type PythonOptions, python } from "../../src/index.ts";
import { startBench } from "../support/bench.ts";
import { failureOf } from "../support/calls.ts";
import { fakePython, scratch } from "../support/fake-python.ts";
import { BRIDGE, PYTHON, toolsFile } from "../support/pythons.ts";

/** What `createPool` rejects with. */
async function startFailure(
	options: Partial<PythonOptions>,
	start: PoolOptions["start"] = {},
	onEvent: (event: SnakepitEvent) => void = () => {},
): Promise<StartError> {
	const error = await failureOf(
		testPool({
			adapter: python({
				tools: toolsFile("bench.py"),
				python: PYTHON,
				...options,
			}),
			start: { ...start, maxRestarts: 0 },
			onEvent,
		}),
	);
	expect(error).toBeInstanceOf(StartError);
	return error as StartError;
}

function tools(text: string): string {
	const path = join(scratch(), "tools.py");
	writeFileSync(path, text);
	return path;
}

/** What pip installs. */
const REQUIREMENT = "snakepit-bridge";

test("no Python where the option says one is", async () => {
	const python = join(scratch(), "bin/python");
	const error = await startFailure({ python });
	expect(error.code).toBe("PYTHON_UNUSABLE");
	expect(error.message).toContain(
		`the adapter's option "python" names it, but there is no ${python} (${dirname(python)} does not exist).`,
	);
});

test("a Python that is too old", async () => {
	const python = fakePython(join(scratch(), "python"), "3.9.18");
	expect((await startFailure({ python })).code).toBe("PYTHON_TOO_OLD");
});

test("a Python without the bridge, with the command that installs it", async () => {
	const python = fakePython(join(scratch(), "python"), "3.12.0", {
		bridge: undefined,
	});
	const error = await startFailure({ python });
	expect(error.code).toBe("BRIDGE_MISSING");
	expect(error.message).toContain(
		`${python} -m pip install "${REQUIREMENT}==${VERSION.split(".", 2).join(".")}.*"`,
	);
	expect(error.message.includes('"CLONE/python')).toBe(VERSION === "0.0.0");
});

test("a bridge of another release, before any worker is started, with both remedies", async () => {
	const python = fakePython(join(scratch(), "python"), "3.12.0", {
		bridge: "7.3.1",
	});
	const error = await startFailure({ python });
	expect(error).toMatchObject({ code: "VERSION_MISMATCH", ran: "no" });
	expect(error.message).toContain("has snakepit-bridge 7.3.1");
	expect(error.message).toContain(`adapter-python ${VERSION}`);
	expect(error.message).toContain(`${python} -m pip install "${REQUIREMENT}==`);
	expect(error.message).toContain("npm install @snakepit/core@7 ");
});

test("a bridge of another release that only the worker finds", async () => {
	const directory = scratch();
	// Where the worker looks first, and the program does not: its environment depends on the slot.
	const copy = join(directory, "snakepit_bridge");
	cpSync(BRIDGE, copy, { recursive: true });
	const version = join(copy, "_version.py");
	writeFileSync(
		version,
		readFileSync(version, "utf8").replace(
			/^__version__ = .*$/m,
			'__version__ = "7.3.1"',
		),
	);
	const error = await startFailure({
		env: () => ({ PYTHONPATH: directory }),
		// A parent would have imported its own bridge, whatever a slot says.
		preload: "off",
	});
	expect(codesOf(error)).toContain("VERSION_MISMATCH");
	expect(error.message).toContain("has snakepit-bridge 7.3.1");
});

test("a file of tools that is not there", async () => {
	const error = await startFailure({ tools: "./nowhere/tools.py" });
	expect(error.code).toBe("TOOLS_IMPORT_FAILED");
	expect(error.message).toContain(join(process.cwd(), "nowhere/tools.py"));
});

test("a module that is named as a file would be, with the way to name it", async () => {
	const error = await startFailure({ tools: "nowhere" });
	expect(error.code).toBe("TOOLS_IMPORT_FAILED");
	expect(error.message).toContain('{ module: "nowhere" }');
});

test("a working directory that is not there", async () => {
	const cwd = join(scratch(), "nowhere");
	const adapter = python({
		tools: toolsFile("bench.py"),
		python: PYTHON,
		cwd,
	});
	expect(await failureOf(testPool({ adapter }))).toMatchObject({
		code: "INVALID_OPTION",
		message: expect.stringContaining(cwd),
	});
});

test("tools that cannot be imported, with Python's traceback", async () => {
	const error = await startFailure({
		tools: tools("import a_module_that_is_missing\n"),
	});
	expect(error.message).toContain(
		"ModuleNotFoundError: No module named 'a_module_that_is_missing'",
	);
	expect(error.message).toContain("tools.py");
	expect(codesOf(error)).toContain("TOOLS_IMPORT_FAILED");
});

test("tools with a mistake in their text, with Python's traceback", async () => {
	const error = await startFailure({ tools: tools("def broken(:\n") });
	expect(error.message).toContain("SyntaxError");
	expect(codesOf(error)).toContain("TOOLS_IMPORT_FAILED");
});

test("tools whose start-up hook fails", async () => {
	const text =
		"from snakepit_bridge import on_startup, tool\n@tool\ndef t(): pass\n@on_startup\ndef load(): raise OSError('no model')\n";
	const error = await startFailure({ tools: tools(text) });
	expect(error.message).toContain("OSError: no model");
	expect(codesOf(error)).toContain("STARTUP_HOOK_FAILED");
});

test("a module of tools that cannot be found", async () => {
	const error = await startFailure({
		tools: { module: "a_module_that_is_missing" },
	});
	expect(codesOf(error)).toContain("TOOLS_IMPORT_FAILED");
});

test("a worker that speaks another protocol, with both versions and the remedy", async () => {
	const ready = {
		protocol: 2,
		bridge: VERSION,
		python: "3.14.0",
		lifeline: "kernel",
	};
	const error = await failureOf(startBench({}, { ready }));
	expect(error).toMatchObject({ code: "PROTOCOL_MISMATCH", ran: "no" });
	expect(String(error)).toMatch(
		/snakepit-bridge \S+ .* protocol 2, but @snakepit\/adapter-python .* 1 to 1/,
	);
	expect(String(error)).toContain("Update @snakepit/adapter-python");
});

test("a program that is ready but is not a bridge", async () => {
	expect(
		await failureOf(startBench({}, { ready: { hello: 1 } })),
	).toMatchObject({ code: "READY_LINE_INVALID" });
});

test("a wrong token", async () => {
	const token = "0".repeat(64);
	const error = await failureOf(startBench({}, { token }));
	expect(error).toMatchObject({ code: "CONNECT_FAILED", ran: "no" });
	expect(String(error)).toContain("the token is wrong");
	expect(String(error)).not.toContain(token);
});

describe.skipIf(process.platform !== "linux")("a start that hangs", () => {
	test.each(
		rows(
			[
				["waits", "time.sleep(600)"],
				["holds Python's lock in C", "ctypes.PyDLL(None).sleep(600)"],
			] as const,
			([how]) => how !== "waits",
		),
	)(
		"says where: an import far below the tools that %s",
		{ timeout: 60_000 },
		async (_how, hang) => {
			const depth = 12;
			const file = tools("import level_0\n");
			for (let level = 0; level < depth; level++)
				writeFileSync(
					join(dirname(file), `level_${level}.py`),
					level === depth - 1
						? `import ctypes\nimport time\n\n${hang}\n`
						: `import level_${level + 1}\n`,
				);
			// Long enough for a worker to come to its tools on a busy machine.
			const error = await startFailure({ tools: file }, { timeoutMs: 4_000 });
			expect(codesOf(error)).toContain("START_TIMEOUT");
			const lines = error.message.split("\n");
			const innermost = lines.findIndex((line) =>
				line.includes(`level_${depth - 1}.py", line 4`),
			);
			// Python writes the innermost frame first, and the main thread last.
			expect(lines[innermost - 1]).toMatch(/hread 0x.*most recent call first/);
			const stack = lines.slice(innermost).join("\n");
			expect(stack).toMatch(/level_0\.py", line 1 .*tools\.py", line 1 /s);
			expect(stack).not.toContain("hread 0x");
		},
	);

	test("before it can say anything is ended all the same, and not by the signal that asks", {
		timeout: 60_000,
	}, async () => {
		// Python imports it before any program, here before that of a worker alone.
		const directory = scratch();
		writeFileSync(
			join(directory, "sitecustomize.py"),
			"import sys, time\nif 'worker' in sys.orig_argv:\n    time.sleep(600)\n",
		);
		const exits: unknown[] = [];
		const error = await startFailure(
			{ env: { PYTHONPATH: directory }, preload: "off" },
			{ timeoutMs: 2_000 },
			(event) => {
				if (event.type === "worker.exited") exits.push(event.exit);
			},
		);
		expect(codesOf(error)).toContain("START_TIMEOUT");
		expect(exits).toEqual([{ kind: "signal", signal: "SIGKILL" }]);
	});
});

/** The pool may wrap the first worker's error into its own. */
function codesOf(error: unknown): unknown[] {
	const codes: unknown[] = [];
	for (let at = error; at instanceof Error; at = at.cause)
		codes.push((at as { code?: unknown }).code);
	return codes;
}
