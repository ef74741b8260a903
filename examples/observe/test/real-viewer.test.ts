import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import {
	compiledViewer,
	VIEWER,
	viewerVersion,
} from "../src/compile-viewer.ts";
import { openViewer } from "../src/viewer.ts";
import type { ViewedSpan } from "../src/viewer-adapter.ts";
import { DEADLINE_MS, newState } from "./observation.ts";

/** A test does not compile the viewer, which takes minutes. */
const executable = compiledViewer();
if (executable === undefined)
	console.warn(
		`Skipped: ${VIEWER} ${viewerVersion()} is not compiled; npx pnpm@12 demo:observe compiles it`,
	);

/** The range of all its nanoseconds. */
const EVER = ["0", `${2n ** 63n - 1n}`] as const;

test.skipIf(executable === undefined)(
	"the demo's traces, metrics and logs are read back from the viewer itself",
	async () => {
		vi.stubEnv("XDG_STATE_HOME", newState());
		onTestFinished(() => void vi.unstubAllEnvs());
		await using viewer = await openViewer({
			executable: executable ?? "",
			startWithinMs: DEADLINE_MS,
			endWithinMs: 5_000,
			stop: new AbortController().signal,
		});
		const { pool } = viewer;
		const demo = join(import.meta.dirname, "../../../apps/demo/src/main.ts");
		const { status, stdout } = spawnSync(
			process.execPath,
			["--conditions=snakepit-source", demo, "--otlp", viewer.otlp],
			{ encoding: "utf8" },
		);
		expect(stdout).toMatch(/^telemetry +sent/m);
		expect(status).toBe(0);

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
		const tool = spans.find(({ name }) => name === "read");
		expect(attempts.map(({ spanID }) => spanID)).toContain(tool?.parentSpanID);
		expect(tool?.resource.attributes).toContainEqual(
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
	4 * DEADLINE_MS,
);
