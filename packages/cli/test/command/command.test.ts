import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { developmentPython } from "../../../../scripts/python-environment.ts";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { inFlags } from "../../src/command/failures.ts";
import { fitted, table } from "../../src/command/output.ts";
import { SNAKEPIT_IN_NODE, snakepit } from "../run/started.ts";

const [program, ...before] = SNAKEPIT_IN_NODE;

/** An option of the API, as messages name it. */
const OPTION =
	/\b[a-z]+\.(?:[a-z]+Ms|max[A-Z]?\w*)\b|\w+: \{|the adapter's option/;

test.each([
	[
		"Worker python-0 (pid 7) was not ready within 60000 ms. If it needs longer, raise start.timeoutMs.\nIts last lines:\n  | x",
		"Worker python-0 (pid 7) was not ready within 60000 ms.\nIts last lines:\n  | x",
	],
	[
		"The system has no memory for another process: free some, or start fewer workers (size.max).",
		"The system has no memory for another process: free some, or start fewer workers (--workers).",
	],
])("%j names what the command has", async (message, shown) => {
	const failed = inFlags(Promise.reject(new Error(message)));
	await expect(failed).rejects.toMatchObject({ message: shown });
	expect(shown).not.toMatch(OPTION);
});

test.each([
	["PYTHONHOME", "/nowhere", /Unset PYTHONHOME \(\/nowhere\)/],
	["VIRTUAL_ENV", "/nowhere", /unset VIRTUAL_ENV/],
])(
	"a Python that %s makes unusable is explained without options of the API",
	(variable, value, says) => {
		const place = temporaryDirectory();
		writeFileSync(join(place, "tools.py"), "");
		const { status, stderr } = snakepit(
			[
				...["mcp", join(place, "tools.py"), "--data-dir", place],
				...(variable === "VIRTUAL_ENV"
					? []
					: ["--python", developmentPython()]),
			],
			{
				cwd: place,
				env: { ...process.env, VIRTUAL_ENV: "", [variable]: value },
			},
		);
		expect({ status, stderr }).toMatchObject({
			status: 1,
			stderr: expect.stringMatching(says),
		});
		expect(stderr).not.toMatch(OPTION);
	},
);

/** How `snakepit --help` ends, and what it says of an error. */
async function help(stdout: "gone" | number) {
	const child = spawn(program, [...before, "--help"], {
		stdio: ["ignore", stdout === "gone" ? "pipe" : stdout, "pipe"],
	});
	child.stdout?.destroy();
	let stderr = "";
	child.stderr?.on("data", (text) => {
		stderr += text;
	});
	const [status] = await once(child, "close");
	return { status, stderr };
}

test("a reader that has read enough, such as head, ends the command without a message", async () => {
	expect(await help("gone")).toEqual({ status: 141, stderr: "" });
});

test.skipIf(!existsSync("/dev/full"))(
	"an output that cannot be written is named",
	async () => {
		const { status, stderr } = await help(openSync("/dev/full", "w"));
		expect(status).toBe(1);
		expect(stderr).toMatch(/^snakepit: .*ENOSPC.*\n$/);
	},
);

test("a line that is cut says so", () => {
	expect(["12345", "123456"].map((line) => fitted(line, 5))).toEqual([
		...["12345", "1234…"],
	]);
});

test("a table has columns of the width that they need", () => {
	expect(
		table([
			["A", "B"],
			["long", ""],
			["x", "yy"],
		]),
	).toEqual([...["A     B", "long", "x     yy"]]);
});

test("in a Node that is too old the command says so, and which one it needs", () => {
	const older =
		"data:text/javascript,Object.defineProperty(process,'version',{value:'v20.20.2'})";
	const env = { ...process.env, NODE_OPTIONS: `--import=${older}` };
	const { status, stderr } = snakepit(["ps"], { env });
	expect(stderr).toMatch(
		/^snakepit: this is Node v20\.20\.2, and this command needs Node 22 or newer\./,
	);
	expect(status).toBe(1);
});
