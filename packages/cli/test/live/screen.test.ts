import { expect, test } from "vitest";
import { keysIn, Screen } from "../../src/live/screen.ts";
import { screenPart } from "../../src/live/top-view.ts";
import { ShownTerminal } from "./shown-terminal.ts";

test("keys are found in what a terminal sends at once; others are left out", () => {
	expect(keysIn("jk\u001b[A\u001b[6~xq")).toEqual([
		...["down", "up", "up", "page_down", "quit"],
	]);
	expect(keysIn("\u001bOB\u001b[1;5C\u0003")).toEqual(["down", "quit"]);
});

test("only lines that have changed are written, and nothing of it can be scrolled back to", () => {
	const terminal = new ShownTerminal(3, 20);
	const screen = new Screen(terminal, undefined);
	terminal.write("before\r\n");
	screen.open(
		() => {},
		() => {},
	);
	screen.draw([{ text: "one" }, { text: "two" }, { text: "three" }]);
	expect(terminal.lines()).toEqual(["one", "two", "three"]);
	terminal.written = "";
	screen.draw([{ text: "one" }, { text: "2", colour: 31 }]);
	expect(terminal.lines()).toEqual(["one", "2", ""]);
	expect(terminal.written).not.toContain("one");
	screen.draw([{ text: "one" }, { text: "2", colour: 31 }]);
	expect(terminal.written.match(/2/g)).toHaveLength(2);
	screen.close();
	expect(terminal.lines()).toEqual(["before", "", ""]);
	expect(terminal.scrolledOut).toEqual([]);
});

const status = { level: "trouble", text: "a b c", remark: undefined } as const;
const body = Array.from({ length: 10 }, (_, line) => ({
	text: `line ${line}`,
}));

test.each([
	// rows, top, then the first line that is shown and the place
	[6, 0, 0, "lines 1-4 of 10"],
	[6, 3, 3, "lines 4-7 of 10"],
	[6, 99, 6, "lines 7-10 of 10"],
	[40, 99, 0, ""],
])(
	"of %i rows, from line %i on, %i is the first that is shown",
	(rows, top, first, place) => {
		const size = { columns: 30, rows };
		const part = screenPart({ status, body }, size, top, "q quit", true);
		expect(part.lines).toHaveLength(rows);
		expect(part.lines[0]).toEqual({ text: "a b c", colour: 31 });
		expect(part.lines[1]?.text).toBe(`line ${first}`);
		expect(part.top).toBe(first);
		expect(part.lines.at(-1)?.text.trimEnd()).toBe(
			place === "" ? "q quit" : `q quit${place.padStart(24)}`,
		);
	},
);

test("a long verdict is broken at spaces, and leaves room for the rest", () => {
	const long = { ...status, text: "word ".repeat(100).trim() };
	const { lines } = screenPart(
		{ status: long, body },
		{ columns: 20, rows: 8 },
		0,
		"q",
		false,
	);
	expect(lines).toHaveLength(8);
	expect(lines[0]?.text).toBe("word word word word");
	expect(lines[6]?.text).toBe("line 0");
});
