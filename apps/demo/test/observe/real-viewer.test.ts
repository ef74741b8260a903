import { expect, onTestFinished, test, vi } from "vitest";
import {
	installedGoProgram,
	versionOf,
} from "../../../../scripts/go-program-on-demand.ts";
import { openViewer } from "../../src/observe/open-viewer.ts";
import { VIEWER } from "../../src/observe/viewer.ts";
import type { TimeRange, ViewedSpan } from "../../src/observe/viewer-tools.ts";
import { FIRST_RUN_MS, runDemo } from "../demo-program.ts";
import { newState } from "../new-state.ts";

/** A test compiles no viewer: that takes minutes. */
const executable = installedGoProgram(VIEWER);
if (executable === undefined)
	console.warn(
		`Skipped: ${VIEWER.module} ${versionOf(VIEWER)} is not installed; npx pnpm@12 demo:observe installs it`,
	);

/** All of its nanoseconds. */
const EVER: TimeRange = ["0", `${2n ** 63n - 1n}`];

test.skipIf(executable === undefined)(
	"the demo's traces, metrics and logs are read back from the viewer itself",
	async () => {
		vi.stubEnv("XDG_STATE_HOME", newState());
		onTestFinished(() => void vi.unstubAllEnvs());
		await using viewer = await openViewer({
			executable: executable ?? "",
			startWithinMs: 60_000,
			endWithinMs: 5_000,
			signal: new AbortController().signal,
		});
		const { pool } = viewer;
		const { code, output } = await runDemo(newState(), ["--otlp", viewer.otlp]);
		expect(output).toMatch(/^telemetry +sent/m);
		expect(code).toBe(0);

		// A page, and the routes of its three signals.
		for (const path of ["", "traces", "metrics", "logs"]) {
			const response = await fetch(`${viewer.page}${path}`);
			expect(response.headers.get("content-type") ?? "").toMatch(/^text\/html/);
			expect(await response.text()).toContain("<title>otel-desktop-viewer");
		}

		// Each image is a trace; the one with an error is that of the killed worker.
		const traces = await pool.execute("searchTraces", EVER);
		const calls = traces.filter(
			({ rootSpan }) => rootSpan?.name === "call read",
		);
		expect(calls).toHaveLength(1_797);
		const failed = calls.filter(({ errorCount }) => errorCount > 0);
		expect(failed).toHaveLength(1);
		const spans = await spansOf(failed[0]?.traceID ?? "");
		const attempts = spans.filter(({ name }) => name === "attempt");
		expect(attempts.map(({ statusCode }) => statusCode).sort()).toEqual([
			"Error",
			"Unset",
		]);
		const told = spans.find(({ name }) => name === "read");
		expect(attempts.map(({ spanID }) => spanID)).toContain(told?.parentSpanID);
		expect(told?.resource.attributes).toContainEqual(
			expect.objectContaining({
				key: "service.name",
				value: "snakepit-demo-workers",
			}),
		);

		const metrics = await pool.execute("searchMetricSummaries", EVER);
		expect(metrics).toContainEqual(
			expect.objectContaining({
				name: "snakepit.call.duration",
				unit: "s",
				serviceName: "snakepit-demo",
			}),
		);
		for (const { dataPointCount } of metrics)
			expect(dataPointCount).toBeGreaterThan(0);

		const logs = await pool.execute("searchLogs", EVER);
		const warnings = await Promise.all(
			logs
				.filter(({ severityText }) => severityText === "WARN")
				.map(({ id }) => pool.execute("getLog", [id])),
		);
		expect(warnings.map(({ eventName }) => eventName)).toContain(
			"snakepit.worker.exited",
		);

		async function spansOf(traceId: string): Promise<readonly ViewedSpan[]> {
			const { spans } = await pool.execute("searchSpans", [traceId]);
			return spans.map(({ spanData }) => spanData);
		}
	},
	FIRST_RUN_MS + 60_000,
);
