import fc from "fast-check";
import { expect, test } from "vitest";
import {
	lastCharacters,
	tellingLine,
} from "../../src/contract/telling-lines.ts";
import { withoutLastLines } from "../../src/contract/text.ts";
import { OutputTail } from "../../src/process/output.ts";

test("the tail is the last lines, oldest first, however many were printed", () => {
	fc.assert(
		fc.property(fc.array(fc.string()), fc.nat(12), (lines, limit) => {
			const tail = new OutputTail(limit);
			for (const line of lines) tail.push(line);
			expect(tail.lines()).toEqual(limit === 0 ? [] : lines.slice(-limit));
		}),
	);
});

test("what was read from the tail does not change when more is printed", () => {
	const tail = new OutputTail(2);
	tail.push("one");
	const read = tail.lines();
	tail.push("two");
	expect(read).toEqual(["one"]);
});

test("in a paragraph each line is marked, and empty output makes no paragraph", () => {
	const tail = new OutputTail(2);
	expect(tail.paragraph()).toBe("");
	tail.push("Traceback (most recent call last):");
	tail.push("MemoryError");
	expect(tail.paragraph()).toBe(
		"\nIts last lines:\n  | Traceback (most recent call last):\n  | MemoryError",
	);
});

test("room that is made is for what comes later, and none where nothing is to be kept", () => {
	const tail = new OutputTail(1);
	tail.push("one");
	tail.push("two");
	tail.makeRoom(2);
	for (const line of ["three", "four", "five"]) tail.push(line);
	expect(tail.lines()).toEqual(["three", "four", "five"]);
	const nothing = new OutputTail(0);
	nothing.makeRoom(2);
	nothing.push("one");
	expect(nothing.lines()).toEqual([]);
});

test("what is kept of the last lines is bounded, from the end", () => {
	expect(lastCharacters(["a", "bc", "def"], 6)).toEqual(["a", "bc", "def"]);
	expect(lastCharacters(["a", "bc", "def"], 4)).toEqual(["c", "def"]);
	expect(lastCharacters(["a", "x".repeat(9)], 4)).toEqual(["xxxx"]);
	expect(lastCharacters(["", "", ""], 2)).toEqual(["", ""]);
	expect(lastCharacters([], 4)).toEqual([]);
});

test("a message can be shown without the last lines that were added to it", () => {
	const tail = new OutputTail(2);
	for (const line of ["one", "two"]) tail.push(line);
	const message = "It ended.\nIt was old.";
	expect(withoutLastLines(message + tail.paragraph())).toBe(message);
	expect(withoutLastLines(message)).toBe(message);
});

/** What Python's faulthandler writes when a tool reads where it must not, with another thread and many modules. */
const CRASH = [
	"Fatal Python error: Segmentation fault",
	"",
	"Thread 0x00007f5f1e7fc6c0 (most recent call first):",
	...Array.from(
		{ length: 50 },
		(_, line) =>
			`  File "/usr/lib/python3.12/threading.py", line ${line} in wait`,
	),
	"",
	"Current thread 0x00007f5f1f7fe740 (most recent call first):",
	'  File "/usr/lib/python3.12/ctypes/__init__.py", line 519 in string_at',
	'  File "/srv/invoices/tools.py", line 17 in read_invoice',
	"",
	`Extension modules: ${"numpy.core._multiarray_umath, ".repeat(200)}(total: 200)`,
];

test("the frames of a crash push out neither the program's own last lines nor the frames of the thread that failed", () => {
	const tail = new OutputTail(5);
	for (const line of ["old", "reads 0042.pdf", "page 3"]) tail.push(line);
	for (const line of CRASH) tail.push(line);
	const kept = lastCharacters(tail.lines(), 2_000);
	expect(kept).toContain("reads 0042.pdf");
	expect(kept).toContain(
		'  File "/srv/invoices/tools.py", line 17 in read_invoice',
	);
	expect(kept.join("").length).toBeLessThanOrEqual(2_000);
});

test("one line tells most about an end: not the last frame, nor what an interpreter prints after it", () => {
	expect(tellingLine(["page 3", ...CRASH])).toBe(
		"Fatal Python error: Segmentation fault, at /srv/invoices/tools.py:17 in read_invoice",
	);
	const traceback = [
		"Traceback (most recent call last):",
		'  File "/srv/tools.py", line 3, in <module>',
		"    open('/models/a.bin')",
		"FileNotFoundError: [Errno 2] No such file or directory: '/models/a.bin'",
	];
	expect(tellingLine(traceback)).toMatch(/^FileNotFoundError/);
	const node = [
		"/srv/worker.js:3",
		'  throw Object.assign(new Error("no licence"), { code: "E_LICENCE" });',
		"  ^",
		"",
		"Error: no licence",
		"    at Object.<anonymous> (/srv/worker.js:3:9)",
		"    at Module._compile (node:internal/modules/cjs/loader:1554:14) {",
		"  code: 'E_LICENCE'",
		"}",
		"",
		"Node.js v24.1.0",
	];
	expect(tellingLine(node)).toBe("Error: no licence");
	expect(tellingLine(["panic: no disk", "", "goroutine 1 [running]:"])).toBe(
		"panic: no disk",
	);
	expect(tellingLine(["up", "paper jam", ""])).toBe("paper jam");
	expect(tellingLine([])).toBeUndefined();
});
