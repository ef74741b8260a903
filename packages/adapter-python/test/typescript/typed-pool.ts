import { join } from "node:path";
import {
	sharedTestPool,
	type TestPool,
} from "../../../../scripts/test-pool.ts";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";
import type { Tools } from "./gen/typed.ts";

export const tools: string = join(import.meta.dirname, "typed.py");

/** A worker with the tools of typed.py for all tests of a file. */
export const sharedPool = (): (() => Promise<TestPool<Tools, unknown>>) =>
	sharedTestPool<Tools>({ adapter: python({ tools, python: PYTHON }) });
