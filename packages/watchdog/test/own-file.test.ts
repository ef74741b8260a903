import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { removePlace } from "../../../scripts/remove-place.ts";
import { VERSION } from "../src/gen/version.ts";
import { ownFile } from "../src/own-file.ts";

// Not one that a build makes: NODE_PATH may lead to the package of this workspace.
const FILE = "dist/program-of-a-test.js";
const INSTALLED = "node_modules/@snakepit/watchdog";

/** Files in a directory of their own; gives their paths, and URLs. */
function place(files: Readonly<Record<string, string>>) {
	const root = mkdtempSync(join(tmpdir(), "own-file-"));
	onTestFinished(() => removePlace(root));
	for (const [name, text] of Object.entries(files)) {
		mkdirSync(dirname(join(root, name)), { recursive: true });
		writeFileSync(join(root, name), text);
	}
	const path = (name: string) => join(root, name);
	return { path, url: (name: string) => pathToFileURL(path(name)).href };
}

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
		const module = url(`${INSTALLED}/dist/own-file.js`);
		expect(ownFile(FILE, { module, program: undefined })).toBe(
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
			ownFile(
				FILE,
				isModule
					? { module: url(main), program: undefined }
					: { module: undefined, program: path(main) },
			),
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
		expect(() => ownFile(FILE, { module, program })).toThrow(
			expect.objectContaining({
				name: "ProtectionUnavailable",
				reason: expect.stringContaining(
					`${FILE} of the package @snakepit/watchdog ${VERSION}`,
				),
				remedy: expect.stringContaining("npm install @snakepit/watchdog@"),
			}),
		);
		expect(() => ownFile(FILE, { module, program })).toThrow(path("app"));
	});
});

test("a program that has neither URL nor path gets the same error", () => {
	expect(() =>
		ownFile(FILE, { module: undefined, program: undefined }),
	).toThrow("was not found from here. Run npm install @snakepit/watchdog@");
	expect(() => ownFile(FILE, { module: "node:x", program: "-" })).toThrow(
		"was not found from -.",
	);
});
