import { expect, test } from "vitest";
import { testPool } from "../../../../scripts/test-pool.ts";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";

const tools = new URL("./used_up/tools.py", import.meta.url);

test.each([
	["opens", 1],
	["opens_async", 1],
	["opens", 2],
	["opens_async", 2],
] as const)(
	"a call that uses up the descriptors of its worker fails with its own error (%s, %i at once)",
	{ timeout: 60_000 },
	async (tool, callsPerWorker) => {
		const adapter = python({ tools, python: PYTHON });
		const { pool } = await testPool({ adapter, callsPerWorker });
		await expect(pool.execute(tool)).rejects.toMatchObject({
			code: "TOOL_FAILED",
			ran: "maybe",
			message: expect.stringContaining("Too many open files"),
		});
		// The same worker goes on.
		const owner = await pool.execute("neighbour");
		expect(owner).toBe("the tools");
		expect(pool.statistics().restarts).toBe(0);
	},
);
