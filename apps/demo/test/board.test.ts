import { expect, test } from "vitest";
import { Board } from "../src/board.ts";
import { paintLine, unpainted, widthOf } from "../src/line.ts";
import { event, killed, ready, released, spawned, starting } from "./events.ts";

const NOW_MS = 10_000;

function board(...events: Parameters<Board["handle"]>[0][]): Board {
	const made = new Board();
	for (const each of events) made.handle(each);
	return made;
}

/** The board's text: an empty line, the bar, an empty line, the head, and the rows. */
const draw = (made: Board, columns = 79, rows = 23): string[] =>
	made
		.draw(NOW_MS, columns, rows)
		.map((line) => paintLine(line, unpainted).trimEnd());
const rows = (made: Board, columns = 79): string[] =>
	draw(made, columns).slice(4, -1);

test("a worker's row follows its life: starting, ready, its calls, exited", () => {
	const made = board(starting("digits-0", "r-1"));
	expect(rows(made)).toEqual(["digits-0    starting        -       0  -"]);
	for (const each of [
		spawned("digits-0", "r-1", 41),
		ready("digits-0", "r-1", 41),
		released("digits-0", "r-1"),
		released("digits-0", "r-1"),
	])
		made.handle(each);
	expect(rows(made)).toEqual(["digits-0    ready          41       2  -"]);
	made.handle(killed("digits-0", "r-1", 41));
	expect(rows(made)).toEqual(["digits-0    exited         41       2  -"]);
});

test("a replacement begins with zero calls and names the process before it", () => {
	const made = board(
		starting("digits-0", "r-1"),
		spawned("digits-0", "r-1", 41),
		released("digits-0", "r-1"),
		killed("digits-0", "r-1", 41),
		starting("digits-0", "r-2"),
		spawned("digits-0", "r-2", 77),
	);
	expect(rows(made)).toEqual([
		"digits-0    starting       77       0  -                    replaces 41",
	]);
});

test("events of a replaced process change nothing, and neither do events after the exit", () => {
	const made = board(
		starting("digits-0", "r-1"),
		killed("digits-0", "r-1", 41),
		event({
			type: "worker.stop_step",
			workerId: "digits-0",
			incarnation: "r-1",
			step: "sweep",
			sent: 0,
		}),
	);
	expect(rows(made)[0]).toContain("exited");
	made.handle(starting("digits-0", "r-2"));
	made.handle(released("digits-0", "r-1"));
	made.handle(killed("digits-0", "r-1", 41));
	expect(rows(made)).toEqual(["digits-0    starting        -       0  -"]);
});

test("the last heartbeat is shown with its age", () => {
	const ref = { workerId: "digits-0", incarnation: "r-1" };
	const missed = { sequence: 1, missedInARow: 2, timeoutMs: 2_000 };
	const made = board(
		starting("digits-0", "r-1"),
		event({ type: "heartbeat.missed", ...ref, ...missed }),
	);
	expect(rows(made)[0]).toMatch(/missed 2$/);
	const answered = { sequence: 2, latencyMs: 0.42 };
	made.handle(
		event({ type: "heartbeat.answered", ...ref, ...answered }, 8_790),
	);
	expect(rows(made)[0]).toMatch(/ 0\.4 ms, 1\.2 s ago$/);
});

test("rows are in the order of the slots, ten after nine", () => {
	const ids = ["digits-10", "digits-9", "digits-0"];
	const made = board(...ids.map((id) => starting(id, id)));
	expect(rows(made).map((row) => row.split(" ")[0])).toEqual([
		"digits-0",
		"digits-9",
		"digits-10",
	]);
});

const full = board(
	starting("digits-0", "r-1"),
	spawned("digits-0", "r-1", 4_194_303),
	ready("digits-0", "r-1", 4_194_303),
	starting("digits-1", "r-2"),
	killed("digits-0", "r-1", 4_194_303),
	starting("digits-0", "r-3"),
	spawned("digits-0", "r-3", 4_194_304),
);

test("a narrow terminal gets fewer columns, and no line is wider than it", () => {
	expect(rows(full, 79)[0]).toMatch(/ replaces 4194303$/);
	expect(rows(full, 60)[0]).toBe("digits-0    starting  4194304       0  -");
	expect(rows(full, 30)[0]).toBe("digits-0    starting  4194304");
	expect(rows(full, 12)[0]).toBe("digits-0");
	expect(rows(full, 5)[0]).toBe("digit");
	for (let columns = 1; columns < 120; columns++)
		for (const line of full.draw(NOW_MS, columns, 23))
			expect(widthOf(line)).toBeLessThanOrEqual(columns);
	for (let height = 1; height < 12; height++)
		expect(draw(full, 79, height).length).toBeLessThanOrEqual(height);
});

test("the bar counts ready workers, then what is done, and is full only when all is done", () => {
	const made = board(starting("digits-0", "r-1"), starting("digits-1", "r-2"));
	made.handle(ready("digits-0", "r-1", 41));
	expect(draw(made)[1]).toMatch(/^training in each worker {2}━+─+ {2}1 of 2$/);
	const bar = (done: number, columns = 79) => {
		made.progress = { done, total: 1_800, perSecond: 1_234.5 };
		return draw(made, columns)[1];
	};
	expect(bar(900)).toMatch(
		/^reading digits {2}━+─+ {4}900 of 1,800 {2}1,235\/s$/,
	);
	expect(bar(1_799)).toContain("─ ");
	expect(bar(1_800)).toMatch(/ ━{20,} /);
	expect(bar(900, 30)).toBe("900 of 1,800");
	expect(bar(0)).toContain(" 0 of 1,800");
});
