import { METRICS } from "@snakepit/telemetry";
import { expect, test } from "vitest";
import { drawGuide } from "../../src/observe/guide.ts";
import { text } from "../text.ts";

const lines = drawGuide("http://127.0.0.1:1/", {
	traces: { traceCount: 1_797, spanCount: 7_000 },
	metrics: { metricCount: 1 },
	logs: { logCount: 20 },
}).map(text);

test("it says how much there is to see", () => {
	expect(lines).toContain(
		"in all       1,797 traces, 1 metric, 20 log records, in the viewer's memory",
	);
});

test("its metrics are those that are told", () => {
	const named = lines.join(" ").match(/snakepit\.[\w.]+/g) ?? [];
	expect(named.length).toBeGreaterThan(0);
	expect(Object.keys(METRICS)).toEqual(expect.arrayContaining(named));
});

test("it fits an ordinary terminal", () => {
	for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
});
