import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { unpainted } from "../src/line.ts";
import { LiveDisplay } from "../src/live-display.ts";
import { event, ready, starting } from "./events.ts";

const HIDE = "\x1b[?25l";
const SHOW = "\x1b[?25h";
const FRAME_MS = 100;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function display(columns = 80, rows = 24) {
	const written: string[] = [];
	const terminal = {
		columns,
		rows,
		write: (text: string) => written.push(text),
	};
	return { live: new LiveDisplay(terminal, unpainted), terminal, written };
}

test("before there are workers, lines are just lines", () => {
	const { live, written } = display();
	live.say("making a Python environment");
	vi.advanceTimersByTime(FRAME_MS);
	expect(written.join("")).not.toContain(HIDE);
	expect(written.join("")).toContain("making a Python environment");
	live.close();
	expect(written.join("")).not.toContain(SHOW);
});

test("each frame is one write that goes back over the one before", () => {
	const { live, written } = display();
	live.hear(starting("digits-0", "r-1"));
	vi.advanceTimersByTime(FRAME_MS);
	expect(written).toHaveLength(1);
	expect(written[0]?.split("\n")).toHaveLength(7);
	live.say("something happened");
	vi.advanceTimersByTime(FRAME_MS);
	expect(written).toHaveLength(2);
	const [, second = ""] = written;
	expect(second).toContain("\x1b[6F");
	expect(second.indexOf("something happened")).toBeLessThan(
		second.indexOf("training"),
	);
	live.close();
});

test("a frame that a narrower terminal has wrapped is gone over whole", () => {
	const { live, terminal, written } = display();
	live.hear(starting("digits-0", "r-1"));
	vi.advanceTimersByTime(FRAME_MS);
	terminal.columns = 40;
	vi.advanceTimersByTime(FRAME_MS);
	// The bar has 73 columns and each of the two lines of the table more than 40.
	expect(written[1]).toContain("\x1b[9F");
	live.close();
});

test("closed, it shows the last state and the cursor, and draws no more", () => {
	const { live, written } = display();
	live.hear(starting("digits-0", "r-1"));
	vi.advanceTimersByTime(FRAME_MS);
	live.hear(ready("digits-0", "r-1", 41));
	live.close();
	live.close();
	vi.advanceTimersByTime(10 * FRAME_MS);
	expect(written.slice(1).join("")).toContain("1 of 1");
	expect(written.join("").split(SHOW)).toHaveLength(2);
	expect(written.at(-1)).toBe(SHOW);
	live.say("a last word");
	expect(written.at(-1)).toBe("a last word\n");
});

test("a signal to the program gives the cursor back at once", () => {
	const { live, written } = display();
	live.hear(starting("digits-0", "r-1"));
	vi.advanceTimersByTime(FRAME_MS);
	live.hear(
		event({
			type: "host.signal_received",
			signal: "SIGINT",
			forced: false,
			answer: "close",
			graceMs: 0,
		}),
	);
	expect(written.at(-1)).toBe(SHOW);
});
