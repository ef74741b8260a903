import { expect, test } from "vitest";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import { StderrReport } from "../../src/pool/observe/stderr-report.ts";

test.each([
	[
		"Worker p-0 could not start: no model",
		"[snakepit] Worker p-0 could not start: no model",
	],
	[
		"There is no interpreter.",
		"[snakepit] Worker p-0 could not be started: There is no interpreter.",
	],
])("a start that failed with %j names the worker once", (message, text) => {
	const failed = {
		...{ type: "worker.start_failed", wallMs: 0, pool: "p" },
		...{ workerId: "p-0", error: new Error(message) },
	} as unknown as SnakepitEvent;
	const started = { type: "pool.started" } as unknown as SnakepitEvent;
	const report = new StderrReport();
	report.textOf(started);
	expect(report.textOf(failed)).toBe(text);
});
