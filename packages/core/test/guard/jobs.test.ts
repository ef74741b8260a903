import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openRun } from "../../src/index.ts";
import { EventRecorder } from "../../src/testing.ts";

test("jobs are forked by the guard: input, output, exit and end are the same", async () => {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-guard-"));
	onTestFinished(() => rmSync(dataDir, { recursive: true }));
	const events = new EventRecorder();
	const run = await openRun({
		dataDir,
		guard: "required",
		onEvent: events.record,
	});
	onTestFinished(() => run.close({ manner: "forced" }));
	const input = "x".repeat(300_000);
	expect(await run.job(["cat"], { input }).text()).toBe(input);
	await expect(
		run.job(["sh", "-c", "echo no >&2; exit 3"]).result(),
	).rejects.toMatchObject({
		...{ code: "JOB_FAILED", exit: { kind: "code", code: 3 } },
		stderrTail: ["no"],
	});
	await expect(run.job(["no-such-program"]).text()).rejects.toMatchObject({
		code: "SPAWN_FAILED",
	});
	await expect(
		run.job(["sleep", "1000"], { timeoutMs: 100 }).result(),
	).rejects.toMatchObject({
		...{ code: "JOB_TIMEOUT", exit: { kind: "signal", signal: "SIGTERM" } },
	});
	for await (const line of run.job(["yes"]).lines()) {
		expect(line).toBe("y");
		break;
	}
	const sources = events.of("job.started").map(({ source }) => source);
	expect(new Set(sources)).toEqual(new Set(["guard"]));
	expect(run.statistics().registry).toMatchObject({ active: 0 });
});
