import { CallAbortedError, ToolError } from "@snakepit/core";
import { expect, onTestFinished, test, vi } from "vitest";
import { openViewer } from "../../src/observe/open-viewer.ts";
import { newState } from "../new-state.ts";
import { standInIn } from "./observation.ts";

test("the viewer answers in the pool's terms", async () => {
	const state = newState();
	vi.stubEnv("XDG_STATE_HOME", state);
	onTestFinished(() => void vi.unstubAllEnvs());
	await using viewer = await openViewer({
		executable: standInIn(state),
		startWithinMs: 30_000,
		endWithinMs: 5_000,
		signal: new AbortController().signal,
	});
	const { pool } = viewer;
	expect(await pool.execute("getStats", [])).toEqual({
		traces: { traceCount: 1, spanCount: 1 },
		metrics: { metricCount: 0 },
		logs: { logCount: 0 },
	});
	const unknown = pool.execute("getLog", ["1"]);
	await expect(unknown).rejects.toBeInstanceOf(ToolError);
	await expect(unknown).rejects.toThrow(
		"The viewer answers getLog with error -32601: method not found",
	);
	await expect(
		pool.execute("getStats", [], { signal: AbortSignal.abort() }),
	).rejects.toBeInstanceOf(CallAbortedError);
	expect(await pool.execute("getStats", [])).toBeDefined();
});
