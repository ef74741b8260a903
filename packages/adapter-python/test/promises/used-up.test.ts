import { createPool } from "@snakepit/core";
import { expect, test } from "vitest";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";
import { freshDirectory } from "./host-process.ts";

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
		await using pool = await createPool({
			adapter: python({ tools, python: PYTHON }),
			size: 1,
			callsPerWorker,
			dataDir: freshDirectory(),
		});
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
