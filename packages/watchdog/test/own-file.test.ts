import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Execution, thisExecution } from "@snakepit/core/infrastructure";
import { describe, expect, onTestFinished, test } from "vitest";
import { removeDirectory } from "../../../scripts/remove-directory.ts";
import { VERSION } from "../src/gen/version.ts";
import { ownFile } from "../src/watchdog/watchdog-process.ts";

// Not one that a build makes: NODE_PATH may lead to the package of this workspace.
const FILE = "dist/program-of-a-test.js";
const INSTALLED = "node_modules/@snakepit/watchdog";

/** Files in a directory of their own; gives their paths, and URLs. */
function place(files: Readonly<Record<string, string>>) {
	const root = mkdtempSync(join(tmpdir(), "own-file-"));
	onTestFinished(() => removeDirectory(root));
	for (const [name, text] of Object.entries(files)) {
		mkdirSync(dirname(join(root, name)), { recursive: true });
		writeFileSync(join(root, name), text);
	}
	const path = (name: string) => join(root, name);
	return { path, url: (name: string) => pathToFileURL(path(name)).href };
}

/** Node, that runs a program from its file. */
const runs = (main: string | undefined): Execution => ({
	...thisExecution(),
	main,
});

const manifest = (name: string, version: string) =>
	JSON.stringify({
		name,
		version,
		exports: { "./package.json": "./package.json" },
	});
const ours = manifest("@snakepit/watchdog", VERSION);

describe("a file of the package is found", () => {
	test("in the package, where its code is not bundled", () => {
		const { path, url } = place({
			[`${INSTALLED}/package.json`]: ours,
			[`${INSTALLED}/${FILE}`]: "",
		});
		const module = url(`${INSTALLED}/dist/watchdog/watchdog-process.js`);
		expect(ownFile(FILE, module, runs(undefined))).toBe(
			path(`${INSTALLED}/${FILE}`),
		);
	});

	test.each([
		["an ES module", true],
		["CommonJS, which does not know its URL", false],
	])("in the installed package, where a bundle is %s", (_, isModule) => {
		const { path, url } = place({
			[`${INSTALLED}/package.json`]: ours,
			[`${INSTALLED}/${FILE}`]: "",
			"app/dist/main.js": "",
		});
		const main = "app/dist/main.js";
		expect(
			isModule
				? ownFile(FILE, url(main), runs(undefined))
				: ownFile(FILE, "", runs(path(main))),
		).toBe(path(`${INSTALLED}/${FILE}`));
	});
});

describe("what is not this package is not started", () => {
	test.each([
		["another's program where ours would be", {}],
		["another package", { "app/package.json": manifest("app", VERSION) }],
		[
			"another version, installed",
			{
				[`${INSTALLED}/package.json`]: manifest(
					"@snakepit/watchdog",
					"999.0.0",
				),
				[`${INSTALLED}/${FILE}`]: "",
			},
		],
		["a package without the file", { [`${INSTALLED}/package.json`]: ours }],
		["a manifest that is no JSON", { "app/package.json": "{" }],
	])("%s", (_, files) => {
		const { path, url } = place({
			"app/dist/main.js": "",
			[`app/${FILE}`]: "",
			...files,
		});
		const module = url("app/dist/main.js");
		const program = path("app/dist/main.js");
		expect(() => ownFile(FILE, module, runs(program))).toThrow(
			expect.objectContaining({
				name: "ProtectionUnavailable",
				reason: expect.stringContaining(
					`${FILE} of the package @snakepit/watchdog ${VERSION}`,
				),
				remedy: expect.stringContaining("npm install @snakepit/watchdog@"),
			}),
		);
		expect(() => ownFile(FILE, module, runs(program))).toThrow(path("app"));
	});
});

test("a program that has neither URL nor path gets the same error", () => {
	expect(() => ownFile(FILE, "", runs(undefined))).toThrow(
		"was not found from here. Run npm install @snakepit/watchdog@",
	);
	expect(() => ownFile(FILE, "node:x", runs("-"))).toThrow(
		"was not found from here. Run npm install @snakepit/watchdog@",
	);
});

describe("an executable that contains the program", () => {
	const installed = {
		[`bin/${INSTALLED}/package.json`]: ours,
		[`bin/${INSTALLED}/${FILE}`]: "",
	};

	test.each(["./app", "app", "/elsewhere/app"])(
		"started as %s, it finds the package beside itself",
		(main) => {
			const { path } = place(installed);
			const executable = { ...runs(main), isSea: true };
			expect(
				ownFile(FILE, "", { ...executable, execPath: path("bin/app") }),
			).toBe(path(`bin/${INSTALLED}/${FILE}`));
		},
	);

	test("does not look in the directory from which it was started, and says where the package belongs", () => {
		const { path } = place({ ...installed, "other/app": "" });
		const execPath = path("other/app");
		const executable = { ...runs(path("bin/app")), isCompiled: true };
		expect(() => ownFile(FILE, "", { ...executable, execPath })).toThrow(
			`was not found from ${execPath}. Run npm install @snakepit/watchdog@${VERSION} in ${path("other")}, beside the executable`,
		);
	});
});
