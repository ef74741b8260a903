// Runs before each file of tests.
import { relative } from "node:path";
import { afterAll, beforeEach, expect } from "vitest";
import { DEFAULTS as GRPC } from "../packages/adapter-grpc-python/src/options.ts";
import { DEFAULTS as PYTHON } from "../packages/adapter-python/src/options.ts";
import { root } from "./run.ts";
import { removeDataDirectory } from "./test-data-directory.ts";
import { TEST } from "./test-mark.ts";
import { testWorkers } from "./test-workers.ts";

const file = relative(root, expect.getState().testPath ?? "");

process.env[TEST] = file;
beforeEach(({ task }) => {
	process.env[TEST] = `${file} > ${task.name}`;
});
for (const defaults of [PYTHON, GRPC]) Object.assign(defaults, testWorkers());
afterAll(removeDataDirectory);
