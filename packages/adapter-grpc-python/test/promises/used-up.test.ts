import { python } from "@snakepit/adapter-python";
import { createPool } from "@snakepit/core";
import { expect, test } from "vitest";
import { PYTHON } from "../../../adapter-python/test/support/pythons.ts";
import { pythonGrpc } from "../../src/index.ts";
import { freshDirectory } from "./host-process.ts";

const tools = new URL("./used_up/tools.py", import.meta.url);

test.each([
	["framed", "opens", 1, python],
	["framed", "opens_async", 1, python],
	["framed", "opens", 2, python],
	["gRPC", "opens_async", 2, pythonGrpc],
] as const)(
	"%s: a call that uses up the descriptors of its worker fails with its own error (%s, %i at once)",
	{ timeout: 60_000 },
	async (transport, tool, callsPerWorker, adapter) => {
		await using pool = await createPool({
			adapter: adapter({ tools, python: PYTHON }),
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
		// gRPC has imported Python's before there are tools.
		if (transport === "framed") expect(owner).toBe("the tools");
		expect(pool.statistics().restarts).toBe(0);
	},
);
