import { spawn } from "node:child_process";
import { once } from "node:events";
import { SnakepitError } from "@snakepit/core";
import { CompileError } from "./compile-viewer.ts";
import { openViewer, type Viewer, type ViewerOptions } from "./viewer.ts";
import type { ViewerStatistics } from "./viewer-adapter.ts";

export interface ObserveOptions
	extends Omit<ViewerOptions, "executable" | "stop"> {
	/** Finds the viewer, or compiles it. */
	readonly findViewer: (stop: AbortSignal) => Promise<string>;
	/** The demo's program and its flags; `--otlp URL` is added. */
	readonly demo: readonly string[];
	/** How long the demo may take from SIGTERM until it is killed. */
	readonly demoEndsWithinMs: number;
	readonly print: (line: string) => void;
}

/**
 * Starts a viewer, runs the demo against it, prints where to look, and waits for
 * a signal. When this resolves, nothing of the viewer or the demo is left.
 *
 * @param stop - Aborts with the name of the signal as its reason.
 * @returns the exit code, or the signal if it came before there was anything to see.
 */
export async function observe(
	options: ObserveOptions,
	stop: AbortSignal,
): Promise<number | NodeJS.Signals> {
	try {
		const executable = await options.findViewer(stop);
		await using viewer = await openViewer({ ...options, executable, stop });
		return await showDemo(viewer, options, stop);
	} catch (error) {
		if (stop.aborted) return stop.reason;
		if (error instanceof CompileError) options.print(error.message);
		else if (error instanceof SnakepitError)
			options.print(`The viewer cannot be used. ${error.message}`);
		else throw error;
		return 1;
	}
}

async function showDemo(
	viewer: Viewer,
	{ demo, demoEndsWithinMs, print }: ObserveOptions,
	stop: AbortSignal,
): Promise<number> {
	const failure = await runDemo(
		[...demo, "--otlp", viewer.otlp],
		demoEndsWithinMs,
		stop,
	);
	stop.throwIfAborted();
	if (failure !== undefined) print(failure);

	const lost = viewer.lost.then((how) => ({ how }));
	// A lost viewer also fails the call: `lost` is first, so it wins.
	const seen = await Promise.race([
		lost,
		viewer.pool.execute("getStats", [], { signal: stop, timeoutMs: 10_000 }),
	]);
	if ("how" in seen) {
		print(seen.how);
		return 1;
	}
	for (const line of guide(viewer.page, seen)) print(line);
	const stopped = stop.aborted ? undefined : once(stop, "abort");
	const ending = await Promise.race([viewer.lost, stopped]);
	if (typeof ending === "string") {
		print(ending);
		return 1;
	}
	return failure === undefined ? 0 : 1;
}

/** Runs the demo in this terminal and returns why it failed. */
async function runDemo(
	command: readonly string[],
	endWithinMs: number,
	stop: AbortSignal,
): Promise<string | undefined> {
	const demo = spawn(process.execPath, [...process.execArgv, ...command], {
		stdio: "inherit",
		// Ctrl-C reaches this program alone: the demo would take SIGTERM after it as the second signal, which kills at once.
		detached: true,
	});
	let deadline: NodeJS.Timeout | undefined;
	const end = () => {
		demo.kill("SIGTERM");
		deadline = setTimeout(() => demo.kill("SIGKILL"), endWithinMs);
	};
	stop.addEventListener("abort", end);
	try {
		const [code, signal] = await once(demo, "exit");
		if (code === 0) return undefined;
		return `The demo ${signal === null ? `failed with exit code ${code}` : `was ended by ${signal}`}.`;
	} finally {
		stop.removeEventListener("abort", end);
		clearTimeout(deadline);
	}
}

/** Where to look, and at what. */
export function guide(
	page: string,
	{ traces, metrics, logs }: ViewerStatistics,
): readonly string[] {
	return [
		"",
		`open         ${page}`,
		"traces       each image is one, `call read`; search WORKER_EXITED for the one that was",
		"             running on the killed worker: its second attempt links to the first",
		"metrics      snakepit.call.duration, snakepit.worker.exits, snakepit.heartbeat.latency",
		"logs         what happened to host and workers; the killed worker is a warning",
		`in all       ${traces.traceCount} traces, ${metrics.metricCount} metrics, ${logs.logCount} log records, in the viewer's memory`,
		"             Ctrl-C ends the viewer.",
	];
}
