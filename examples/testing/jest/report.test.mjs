import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { python } from "@snakepit/adapter-python";
import { CallTimeoutError, createPool } from "@snakepit/core";
import { scripts, virtualPool } from "@snakepit/core/testing";
import { report } from "../src/report.ts";

test("the mean is reported; no process is started", async () => {
	const { pool, close } = await virtualPool({ commands: { mean: () => 3 } });
	expect(await report(pool, [1, 2, 6])).toBe("on average 3");
	await close();
});

test("a tool that hangs is not waited for; the test advances the clock", async () => {
	const { pool, clock, close } = await virtualPool({
		commands: { mean: scripts.hang },
	});
	const rejection = expect(report(pool, [1])).rejects.toThrow(CallTimeoutError);
	await clock.advance(500);
	await rejection;
	await close();
});

test("the same with Python: a pool of one worker, with a ledger of the test's own", async () => {
	const dataDir = await mkdtemp(join(tmpdir(), "report-"));
	const pool = await createPool({
		adapter: python({ tools: join(import.meta.dirname, "../tools.py") }),
		size: 1,
		dataDir,
		onSignal: "ignore",
	});
	try {
		expect(await report(pool, [1, 2, 6])).toBe("on average 3");
	} finally {
		await pool.close();
		await rm(dataDir, { recursive: true, force: true });
	}
}, 60_000);
