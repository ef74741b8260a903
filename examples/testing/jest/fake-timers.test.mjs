import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { python } from "@snakepit/adapter-python";
import { createPool } from "@snakepit/core";
import { report } from "../src/report.ts";

test("a pool of real workers runs while the timers of the test are fake", async () => {
	const dataDir = await mkdtemp(join(tmpdir(), "report-"));
	jest.useFakeTimers();
	const pool = await createPool({
		adapter: python({ tools: join(import.meta.dirname, "../tools.py") }),
		size: 1,
		dataDir,
		onSignal: "ignore",
	});
	try {
		const reports = [1, 2, 3].map((each) => report(pool, [each]));
		expect(await Promise.all(reports)).toEqual([
			...["on average 1", "on average 2", "on average 3"],
		]);
	} finally {
		await pool.close();
		jest.useRealTimers();
		await rm(dataDir, { recursive: true, force: true });
	}
}, 60_000);
