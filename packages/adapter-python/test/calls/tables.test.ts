import { describe, expect, onTestFinished, test } from "vitest";
import { python } from "../../src/index.ts";
import {
	needsPython,
	open,
	PYTHON,
	Table,
	tableFromArrays,
} from "../tables/tables-pool.ts";

const ROWS = 100_000;

describe.runIf(PYTHON)(
	`tables over gRPC${needsPython}`,
	{
		timeout: 120_000,
	},
	() => {
		test.each([
			["in shared memory", {}],
			["in messages", { sharedMemory: "off" }],
		] as const)(
			"cross both ways %s, and are data frames where a parameter is one",
			async (_, memory) => {
				const { pool, close } = await open((options) =>
					python({ ...options, ...memory }),
				);
				onTestFinished(close);
				const table = tableFromArrays({
					whole: Int32Array.from({ length: ROWS }, (_, i) => i),
					half: Float64Array.from({ length: ROWS }, (_, i) => i / 2),
				});
				const back = (await pool.execute("mirrored", [table])) as Table;
				expect(back).toBeInstanceOf(Table);
				expect(back.getChild("whole")?.toArray()).toEqual(
					table.getChild("whole")?.toArray(),
				);
				expect(back.getChild("half")?.get(ROWS - 1)).toBe((ROWS - 1) / 2);
				const frame = await pool.execute("from_polars");
				expect(frame.numRows).toBe(3);
				const [library] = await pool.execute("as_pandas", [frame]);
				expect(library).toBe("pandas");
			},
		);
	},
);
