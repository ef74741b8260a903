import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findProgram } from "../../src/interpreter/interpreter.ts";
import { programThatPrints, scratch } from "../support/fake-python.ts";

test("the first file of PATH that may be executed, also behind a link and in the working directory", () => {
	const root = scratch();
	mkdirSync(join(root, "a/tool"), { recursive: true });
	mkdirSync(join(root, "b"));
	writeFileSync(join(root, "b/tool"), "#!/bin/sh\n");
	chmodSync(join(root, "b/tool"), 0o644);
	const real = programThatPrints(join(root, "real/tool-1"), "");
	mkdirSync(join(root, "c"));
	symlinkSync(real, join(root, "c/tool"));
	const path = ["a", "b", "c"].map((name) => join(root, name)).join(":");
	expect(findProgram("tool", path, "/")).toEqual({
		kind: "found",
		path: join(root, "c/tool"),
	});
	expect(findProgram("tool-1", `${path}:`, join(root, "real"))).toEqual({
		kind: "found",
		path: real,
	});
	expect(findProgram("tool", join(root, "b"), "/")).toEqual({
		kind: "none",
		why: `tool is not in PATH (${root}/b), as this user may not run ${root}/b/tool`,
	});
	expect(findProgram("tool", undefined, root)).toEqual({
		kind: "none",
		why: "tool was not found, because PATH is not set",
	});
});
