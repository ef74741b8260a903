import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPool, type Pool } from "@snakepit/core";
import { afterAll } from "vitest";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";
import type { Tools } from "./gen/typed.ts";

export const tools: string = join(import.meta.dirname, "typed.py");

/** A pool of one worker with the tools of typed.py for all tests of a file: it is opened by the first that asks. */
export function sharedPool(): () => Promise<Pool<Tools>> {
	let pool: Promise<Pool<Tools>> | undefined;
	let directory: string | undefined;
	afterAll(async () => {
		await (await pool)?.close();
		if (directory !== undefined) rmSync(directory, { recursive: true });
	});
	return () => {
		directory ??= mkdtempSync(join(tmpdir(), "snakepit-typed-"));
		pool ??= createPool<Tools>({
			adapter: python({ tools, python: PYTHON }),
			size: 1,
			dataDir: directory,
		});
		return pool;
	};
}
