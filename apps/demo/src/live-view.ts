import { cutLine, type Line } from "./line.ts";
import { drawProgressBar, type Progress } from "./progress-bar.ts";
import type { WorkerRow } from "./worker-board.ts";
import { drawWorkerTable } from "./worker-table.ts";

/** All that the live view shows. */
export interface LiveState {
	/** `undefined` while the workers start. */
	readonly progress: Progress | undefined;
	readonly workers: readonly WorkerRow[];
	readonly nowMs: number;
}

/** Draws the whole view for a terminal of this size; what matters most is at the top. */
export function drawLiveView(
	{ progress, workers, nowMs }: LiveState,
	columns: number,
	rows: number,
): Line[] {
	const ready = workers.filter(({ state }) => state === "ready").length;
	const starting: Progress = {
		doing: "training in each worker",
		done: ready,
		total: workers.length,
		perSecond: undefined,
	};
	const view = [
		[],
		drawProgressBar(progress ?? starting, columns),
		[],
		...drawWorkerTable(workers, nowMs, columns),
		[],
	];
	return view.slice(0, Math.max(1, rows)).map((line) => cutLine(line, columns));
}
