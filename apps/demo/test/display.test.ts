import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { doneIn, LiveDisplay, PlainDisplay } from "../src/display.ts";
import { unpainted } from "../src/line.ts";
import { event, killed, ready, released, starting } from "./events.ts";

const HIDE = "\x1b[?25l";
const SHOW = "\x1b[?25h";
const FRAME_MS = 100;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function live(columns = 80, rows = 24) {
	const written: string[] = [];
	const terminal = {
		columns,
		rows,
		write: (text: string) => written.push(text),
	};
	return { live: new LiveDisplay(terminal, unpainted), terminal, written };
}

test("before there are workers, lines are just lines", () => {
	const { live: display, written } = live();
	display.print("making a Python environment");
	vi.advanceTimersByTime(FRAME_MS);
	expect(written.join("")).not.toContain(HIDE);
	expect(written.join("")).toContain("making a Python environment");
	display.close();
	expect(written.join("")).not.toContain(SHOW);
});

test("each frame is one write over the frame before it, below the printed lines", () => {
	const { live: display, written } = live();
	display.handle(starting("digits-0", "r-1"));
	vi.advanceTimersByTime(FRAME_MS);
	expect(written).toHaveLength(1);
	expect(written[0]?.split("\n")).toHaveLength(7);
	display.print("something \x1b[31mhappened\x1b[0m");
	vi.advanceTimersByTime(FRAME_MS);
	expect(written).toHaveLength(2);
	const [, second = ""] = written;
	expect(second).toContain("\x1b[6F");
	// Escape codes in what a worker prints do not reach the terminal.
	expect(second.indexOf("something happened")).toBeLessThan(
		second.indexOf("training"),
	);
	expect(second).toContain("something happened");
	display.close();
});

test("a frame that a narrower terminal has wrapped is overwritten whole", () => {
	const { live: display, terminal, written } = live();
	display.handle(starting("digits-0", "r-1"));
	vi.advanceTimersByTime(FRAME_MS);
	terminal.columns = 40;
	vi.advanceTimersByTime(FRAME_MS);
	// The bar has 73 columns and each of the two lines of the table more than 40.
	expect(written[1]).toContain("\x1b[9F");
	display.close();
});

test("closing shows the last state and the cursor, and stops drawing", () => {
	const { live: display, written } = live();
	display.handle(starting("digits-0", "r-1"));
	vi.advanceTimersByTime(FRAME_MS);
	display.handle(ready("digits-0", "r-1", 41));
	display.close();
	display.close();
	vi.advanceTimersByTime(10 * FRAME_MS);
	expect(written.slice(1).join("")).toContain("1 of 1");
	expect(written.join("").split(SHOW)).toHaveLength(2);
	expect(written.at(-1)).toBe(SHOW);
	display.print("the report");
	expect(written.at(-1)).toBe("the report\n");
});

test("a signal to the program shows the cursor at once", () => {
	const { live: display, written } = live();
	display.handle(starting("digits-0", "r-1"));
	vi.advanceTimersByTime(FRAME_MS);
	const answer = { forced: false, answer: "close", graceMs: 0 } as const;
	display.handle(
		event({ type: "host.signal_received", signal: "SIGINT", ...answer }),
	);
	expect(written.at(-1)).toBe(SHOW);
});

test("the plain display prints what a person wants to know, and a line for each tenth of the work", () => {
	const written: string[] = [];
	const display = new PlainDisplay((text) => written.push(text));
	const output = { stream: "stderr", cut: false, callId: undefined } as const;
	const nothing = { deadRuns: 0, found: 0, killed: 0, spared: 0 };
	for (const each of [
		ready("digits-0", "r-1", 41),
		killed("digits-2", "r-3", 43),
		event({
			type: "worker.output",
			workerId: "digits-1",
			incarnation: "r-2",
			line: "a warning",
			...output,
		}),
		released("digits-0", "r-1"),
		{ ...killed("digits-0", "r-1", 41), reason: "closed" } as never,
		event({
			type: "cleanup.finished",
			runId: "aaaaaaa" as never,
			durationMs: 1,
			...nothing,
		}),
	])
		display.handle(each);
	for (let done = 0; done <= 1_800; done++)
		display.progress({ done, total: 1_800, perSecond: 1 });
	expect(written.slice(0, 4)).toEqual([
		"digits-0 is ready after 2.1 s, pid 41\n",
		"digits-2 is gone, pid 43: SIGKILL, 1 call lost\n",
		"digits-1 | a warning\n",
		" 10 %  reading digits: 180 of 1,800\n",
	]);
	expect(written).toHaveLength(13);
	expect(written.slice(3).map(doneIn)).toEqual([
		0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
	]);
	expect(doneIn("digits-0 | 50 % of it")).toBeUndefined();
});
