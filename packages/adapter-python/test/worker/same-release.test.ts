import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { VERSION } from "../../src/gen/version.ts";
import {
	cloneNote,
	fittingBridge,
	isSameRelease,
	releaseMismatch,
} from "../../src/worker/worker-facts.ts";

test.each([
	["0.7.0", "0.0.0", false],
	["0.3.9", "0.3.0", true],
	["0.3.0", "0.30.0", false],
	["0.3.0rc1", "0.3.0-rc.1", true],
	["1.9.0", "1.0.0", true],
	["2.0.0", "1.9.0", false],
	["1.3.0", "0.3.0", false],
	["unknown", "0.3.0", false],
	["unknown", "unknown", false],
])("bridge %s with adapter %s: %s", (bridge, adapter, same) => {
	expect(isSameRelease(bridge, adapter)).toBe(same);
});

test("the command asks for any bridge of this release", () => {
	expect(fittingBridge(undefined, "0.3.7")).toBe("snakepit-bridge==0.3.*");
	expect(fittingBridge("grpc", "2.3.7")).toBe("snakepit-bridge[grpc]==2.*");
});

test("only a build that was never published says where its bridge is instead of on PyPI", () => {
	expect(cloneNote("grpc", "0.0.0")).toContain('install "CLONE/python[grpc]"');
	expect(cloneNote("grpc", "0.1.0")).toBe("");
});

test("a bridge whose version cannot be read has one remedy", () => {
	expect(releaseMismatch("x", "unknown", "pip").message).not.toContain("npm");
});

test("the version is that of the package, and of the bridge of this repository", () => {
	const packageJson = new URL("../../package.json", import.meta.url);
	expect(JSON.parse(readFileSync(packageJson, "utf8")).version).toBe(VERSION);
	const bridge = new URL(
		"../../../../python/src/snakepit_bridge/_version.py",
		import.meta.url,
	);
	expect(readFileSync(bridge, "utf8")).toContain(`__version__ = "${VERSION}"`);
});
