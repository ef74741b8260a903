import { counted } from "../figures.ts";
import { type Line, plain } from "../line.ts";
import type { ViewerStatistics } from "./viewer-tools.ts";

/** Says where to look, and at what. */
export function drawGuide(
	page: string,
	{ traces, metrics, logs }: ViewerStatistics,
): readonly Line[] {
	const held = [
		counted(traces.traceCount, "trace"),
		counted(metrics.metricCount, "metric"),
		counted(logs.logCount, "log record"),
	];
	return [
		plain(""),
		row("open", ["strong", page]),
		row("traces", [
			"plain",
			"each image is one, `call read`; search WORKER_EXITED for the one that was under",
		]),
		row("", [
			"plain",
			"way on the worker that was killed: its second attempt links to the first",
		]),
		row("metrics", [
			"plain",
			"snakepit.call.duration, snakepit.worker.exits, snakepit.heartbeat.latency",
		]),
		row("logs", [
			"plain",
			"what happened to host and workers; the killed worker is a warning",
		]),
		row("in all", ["plain", `${held.join(", ")}, in the viewer's memory`]),
		row("", ["faint", "Ctrl-C ends the viewer."]),
	];
}

function row(label: string, text: Line[number]): Line {
	return [["faint", label.padEnd(13)], text];
}
