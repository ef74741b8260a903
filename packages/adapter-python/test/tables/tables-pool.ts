import { join } from "node:path";
import { tablesPython } from "../../../../scripts/tables-python.ts";

export const tools: string = join(import.meta.dirname, "tables.py");

export const PYTHON: string | undefined = tablesPython();

/** For titles of tests that are skipped without it. */
export const needsPython: string =
	PYTHON === undefined
		? " (skipped: pandas, polars and pyarrow could not be installed)"
		: "";
