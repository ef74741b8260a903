import { join } from "node:path";
import { createPool, type Pool } from "@snakepit/core";
import { onTestFinished } from "vitest";
import { python } from "../../src/index.ts";
import { scratch } from "../support/fake-python.ts";
import { PYTHON } from "../support/pythons.ts";
import type { Tools } from "./gen/typed.ts";

export const tools: string = join(import.meta.dirname, "typed.py");

/** A pool of one worker with the tools of typed.py; closed when the test is finished. */
export async function open(): Promise<Pool<Tools>> {
	const pool = await createPool<Tools>({
		adapter: python({ tools, python: PYTHON }),
		size: 1,
		dataDir: scratch(),
	});
	onTestFinished(() => pool.close());
	return pool;
}
