import { expect, test } from "vitest";
import { drawLiveView } from "../src/live-view.ts";
import { WorkerBoard } from "../src/worker-board.ts";
import { ready, starting } from "./events.ts";
import { text } from "./text.ts";

const board = new WorkerBoard();
board.hear(starting("digits-0", "r-1"));
board.hear(starting("digits-1", "r-2"));
board.hear(ready("digits-0", "r-1", 41));
const state = { progress: undefined, workers: board.rows, nowMs: 0 };

test("while workers start, the bar counts those that are ready", () => {
	expect(drawLiveView(state, 79, 23).map(text)[1]).toMatch(
		/^training in each worker {2}━+─+ {2}1 of 2$/,
	);
});

test("a low terminal shows the top of the view, never more rows than it has", () => {
	for (let rows = 1; rows < 30; rows++)
		expect(drawLiveView(state, 79, rows).length).toBeLessThanOrEqual(rows);
	expect(drawLiveView(state, 79, 2).map(text)[1]).toContain("1 of 2");
});
