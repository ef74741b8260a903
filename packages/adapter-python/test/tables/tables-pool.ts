import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPool, type Pool } from "@snakepit/core";
import { tablesPython } from "../../../../scripts/tables-python.ts";
import { python } from "../../src/index.ts";
import type { Tools } from "./gen/tables.ts";

export const tools: string = join(import.meta.dirname, "tables.py");

export const PYTHON: string | undefined = tablesPython();

/** For titles of tests that are skipped without it. */
export const needsPython: string =
	PYTHON === undefined
		? " (skipped: pandas, polars and pyarrow could not be installed)"
		: "";

/** For tests of packages that do not depend on it. */
export { Table, tableFromArrays } from "apache-arrow";

/** A pool of one worker with the tools of tables.py, and what closes it. */
export async function open(makeAdapter: typeof python = python): Promise<{
	readonly pool: Pool<Tools>;
	close(): Promise<void>;
}> {
	const dataDir = mkdtempSync(join(tmpdir(), "snp-tables-"));
	const pool = await createPool<Tools>({
		adapter: makeAdapter({ tools, python: PYTHON ?? "python3" }),
		size: 1,
		dataDir,
	});
	const close = async () => {
		await pool.close();
		rmSync(dataDir, { recursive: true });
	};
	return { pool, close };
}
