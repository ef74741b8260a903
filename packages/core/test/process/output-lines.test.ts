import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Clock } from "../../src/contract/clock.ts";
import {
	bothEnds,
	foldedFrames,
	lastCharacters,
	tellingLine,
} from "../../src/contract/telling-lines.ts";
import { withoutLastLines } from "../../src/contract/text.ts";
import { systemClock } from "../../src/os/system-clock.ts";
import {
	type OutputLine,
	OutputTail,
	ReadOutput,
	readLines,
} from "../../src/process/output.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { shakeHands } from "../../src/worker/control-channel.ts";

/** Has no time but the turns of the event loop. */
const turns: Pick<Clock, "after"> = {
	after: (ms, action) => {
		const timer = ms === 0 ? setImmediate(action) : undefined;
		return { cancel: () => clearImmediate(timer) };
	},
};

/** The lines that are reported for a stream that brings these chunks and ends. */
function linesOf(
	chunks: readonly (string | Uint8Array)[],
	maxLineBytes = 100,
): Promise<readonly OutputLine[]> {
	const lines: OutputLine[] = [];
	return new Promise((resolve) =>
		readLines(
			Readable.from(chunks.map((chunk) => Buffer.from(chunk))),
			maxLineBytes,
			(line) => lines.push(line),
			() => resolve(lines),
			turns,
		),
	);
}

const whole = (...texts: string[]): OutputLine[] =>
	texts.map((text) => ({ text, cut: false }));

describe("lines", () => {
	test("are the same however the stream is cut into chunks", async () => {
		expect(await linesOf(["on", "e\ntw", "o\n", "\nfour\n"])).toEqual(
			whole("one", "two", "", "four"),
		);
	});

	test("end at CRLF as at LF, also when a chunk ends between the two", async () => {
		expect(await linesOf(["one\r\ntwo\r", "\nthree\n"])).toEqual(
			whole("one", "two", "three"),
		);
	});

	test("are what a carriage return left of them, as a terminal shows them at their end", async () => {
		expect(await linesOf(["10 %\r", "20 %\r\r\n"])).toEqual(whole("20 %"));
		expect(await linesOf(["\r 10 %", "\r", " 20 %\ndone\n"])).toEqual(
			whole(" 20 %", "done"),
		);
	});

	test("end where a bar below another one is left for good, not where it is redrawn", async () => {
		// What tqdm writes of two bars: a line break and one line up again bring it back to the line of the lower one.
		const drawn = [
			"\router 0 %\n",
			"\rinner 0 %\u001b[A\n",
			"\rinner 50 %\u001b[A\n\rinner 99 %\u001b[A",
			"\n\r          \u001b[A\router 50 %\n",
			"\rinner 0 %\u001b[A\n\r        \u001b[A\router 100 %\n",
		];
		const expected = whole("outer 0 %", "outer 50 %", "outer 100 %");
		expect(await linesOf(drawn)).toEqual(expected);
		expect(await linesOf([...drawn.join("")])).toEqual(expected);
	});

	test("of a bar two below another one stay one line, too", async () => {
		const bar = (text: string) => `\n\n\r${text}\u001b[A\u001b[A`;
		expect(
			await linesOf(["\rone", bar("a"), bar("b"), bar("c"), "\n\nend\n"]),
		).toEqual(whole("one", "", "end"));
	});

	test("that a program leaves below a bar show no sign that moves the cursor", async () => {
		expect(await linesOf(["\rinner 99 %\u001b[A"])).toEqual(
			whole("inner 99 %"),
		);
	});

	test("that were erased with blanks are not there", async () => {
		expect(await linesOf(["\r 90 %\r     \rdone\n"])).toEqual(whole("done"));
		expect(await linesOf(["\r 90 %\r     \r"])).toEqual([]);
	});

	test("keep a character whose bytes came in two chunks", async () => {
		const bytes = Buffer.from("naïve 🐍\n");
		const chunks = [...bytes].map((byte) => Uint8Array.of(byte));
		expect(await linesOf(chunks)).toEqual(whole("naïve 🐍"));
	});

	test("that are no UTF-8 are reported with replacement characters, and the next one is whole", async () => {
		expect(await linesOf([Uint8Array.of(0xff, 0xfe, 0x0a), "fine\n"])).toEqual(
			whole("\uFFFD\uFFFD", "fine"),
		);
	});

	test("without a last line break are reported at the end", async () => {
		expect(await linesOf(["one\ntwo"])).toEqual(whole("one", "two"));
		expect(await linesOf(["one\ntwo\r"])).toEqual(whole("one", "two"));
		expect(await linesOf([Uint8Array.of(0xf0, 0x9f)])).toEqual(whole("\uFFFD"));
	});

	test("of an empty stream are none", async () => {
		expect(await linesOf([])).toEqual([]);
	});
});

describe("a line over the limit", () => {
	test("is reported once, cut, as soon as it is known to be too long, and its rest is dropped", async () => {
		const stream = new PassThrough();
		const lines: OutputLine[] = [];
		const ended = new Promise<void>((resolve) =>
			readLines(stream, 4, (line) => lines.push(line), resolve, turns),
		);
		const read = new Promise((resolve) => stream.once("data", resolve));
		stream.write("abcdefgh");
		await read;
		expect(lines).toEqual([{ text: "abcd", cut: true }]);
		stream.write("ijk");
		stream.end("lm\nno\n");
		await ended;
		expect(lines).toEqual([
			{ text: "abcd", cut: true },
			{ text: "no", cut: false },
		]);
	});

	test("is not one that just fills it, whichever way it ends", async () => {
		for (const end of ["\n", "\r\n", ""])
			expect(await linesOf([`abcd${end}`], 4)).toEqual(whole("abcd"));
		expect(await linesOf(["abcd\r", "\nx"], 4)).toEqual(whole("abcd", "x"));
	});

	test("is cut before the character that does not fit, never within one", async () => {
		expect(await linesOf(["ab🐍c\n"], 5)).toEqual([{ text: "ab", cut: true }]);
		expect(await linesOf(["ab", "🐍c\n"], 6)).toEqual([
			{ text: "ab🐍", cut: true },
		]);
	});

	test("gives way to what is drawn over it, which is reported when the line ends", async () => {
		expect(await linesOf(["abcdefgh\rij\rklmnopq\rrs\r\n"], 4)).toEqual([
			{ text: "abcd", cut: true },
			{ text: "rs", cut: false },
		]);
		expect(await linesOf(["a\r", "klmnopq", "rst\n"], 4)).toEqual([
			{ text: "klmn", cut: true },
		]);
	});

	test("may be the last one", async () => {
		expect(await linesOf(["abcdefgh"], 4)).toEqual([
			{ text: "abcd", cut: true },
		]);
		expect(await linesOf(["abcdefgh", Uint8Array.of(0xf0)], 4)).toEqual([
			{ text: "abcd", cut: true },
		]);
	});
});

describe("the end", () => {
	test("is reported once, after the last line, also when the stream breaks", async () => {
		for (const finish of [
			(stream: PassThrough) => stream.end(),
			(stream: PassThrough) => stream.destroy(),
			(stream: PassThrough) => stream.destroy(new Error("EIO")),
		]) {
			const stream = new PassThrough();
			const lines: string[] = [];
			readLines(
				stream,
				100,
				({ text }) => lines.push(text),
				() => lines.push("(end)"),
				turns,
			);
			const closed = new Promise((resolve) => stream.once("close", resolve));
			const read = new Promise((resolve) => stream.once("data", resolve));
			stream.write("last output");
			await read;
			finish(stream);
			await closed;
			expect(lines).toEqual(["last output", "(end)"]);
		}
	});
});

test("a flood of short lines is reported in turns, so that other work continues in between, and no line is lost", async () => {
	const lines = Array.from({ length: 20_000 }, (_, index) => String(index));
	const stream = Readable.from([
		Buffer.from(`${lines.join("\n")}\n`),
		Buffer.from("last\n"),
	]);
	const reported: string[] = [];
	const ended = Promise.withResolvers<void>();
	let taken = 0;
	readLines(
		stream,
		100,
		({ text }) => void reported.push(text),
		() => ended.resolve(),
		{
			after: (ms, action) => {
				taken++;
				return turns.after(ms, action);
			},
		},
	);
	await ended.promise;
	expect(reported).toEqual([...lines, "last"]);
	expect(taken).toBe(20);
});

describe("a progress bar", () => {
	/** Draws every 10 ms, and ends as asked. */
	async function bar(updates: number, ...last: string[]) {
		const clock = new VirtualClock();
		const stream = new PassThrough();
		const lines: { readonly atMs: number; readonly text: string }[] = [];
		const ended = Promise.withResolvers<void>();
		readLines(
			stream,
			100,
			({ text }) => lines.push({ atMs: clock.now(), text }),
			ended.resolve,
			clock,
		);
		for (let update = 1; update <= updates; update++) {
			stream.write(`\r${update} of ${updates}`);
			await clock.advance(10);
		}
		for (const text of last) stream.write(text);
		await clock.settle();
		return { lines, clock, stream, ended: ended.promise };
	}

	test("of 10,000 updates in 100 s is 20 lines, the last of them its end", async () => {
		const { lines, stream, ended, clock } = await bar(10_000, "\n");
		stream.end();
		await ended;
		expect(lines).toHaveLength(20);
		expect(lines[0]).toEqual({ atMs: 5_000, text: "500 of 10000" });
		expect(lines.at(-1)).toEqual({ atMs: 100_000, text: "10000 of 10000" });
		expect(clock.pending()).toBe(0);
	});

	test("that stands still is reported once, also when its line ends later", async () => {
		const { lines, clock, stream, ended } = await bar(3);
		await clock.advance(60_000);
		expect(lines).toEqual([{ atMs: 5_000, text: "3 of 3" }]);
		stream.end("\nnext\n");
		await ended;
		expect(lines.map(({ text }) => text)).toEqual(["3 of 3", "next"]);
	});

	test("whose writer ends in its middle keeps its last state", async () => {
		const { lines, clock, stream, ended } = await bar(3);
		stream.destroy();
		await ended;
		expect(lines.map(({ text }) => text)).toEqual(["3 of 3"]);
		expect(clock.pending()).toBe(0);
	});
});

/** The rule in a few lines, over the whole text at once. */
function model(text: string, maxLineBytes: number): OutputLine[] {
	const parts = text.split("\n");
	const unended = parts.pop() ?? "";
	const lines = parts.flatMap((part) => drawn(part, maxLineBytes));
	const last = drawn(unended, maxLineBytes).filter(
		(line) => line.text !== "" || line.cut,
	);
	return [...lines, ...last];
}

function drawn(part: string, maxLineBytes: number): OutputLine[] {
	const pieces = part.split("\r");
	const [first = ""] = pieces;
	const last = pieces.findLast((piece) => piece !== "") ?? "";
	const atOnce = cut(first, maxLineBytes);
	if (!atOnce.cut) return [cut(last, maxLineBytes)];
	return pieces.slice(1).some((piece) => piece !== "")
		? [atOnce, cut(last, maxLineBytes)]
		: [atOnce];
}

function cut(line: string, maxLineBytes: number): OutputLine {
	let fitting = "";
	for (const character of line) {
		if (Buffer.byteLength(fitting + character) > maxLineBytes)
			return { text: fitting, cut: true };
		fitting += character;
	}
	return { text: line, cut: false };
}

test("whatever is printed in whatever chunks, the lines are those of the whole text", async () => {
	const character = fc.oneof(
		{ weight: 4, arbitrary: fc.constantFrom("a", "é", "€", "🐍") },
		{ weight: 2, arbitrary: fc.constantFrom("\n", "\r", "\r\n") },
	);
	await fc.assert(
		fc.asyncProperty(
			fc.array(character, { maxLength: 60 }),
			fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 9 }),
			fc.integer({ min: 1, max: 20 }),
			async (characters, sizes, maxLineBytes) => {
				const text = characters.join("");
				const bytes = Buffer.from(text);
				const chunks: Uint8Array[] = [];
				for (let at = 0; at < bytes.length; ) {
					const size = sizes[chunks.length % sizes.length] ?? 1;
					chunks.push(bytes.subarray(at, at + size));
					at += size;
				}
				expect(await linesOf(chunks, maxLineBytes)).toEqual(
					model(text, maxLineBytes),
				);
			},
		),
		{ numRuns: 500 },
	);
});

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

/** Of a tool that a thread of the bridge runs, below a library; a thread of the bridge waits. */
function bridgeCrash(depth: number): readonly string[] {
	const bridge = (name: string) =>
		`  File "/srv/shop/.venv/lib/python3.12/site-packages/snakepit_bridge/conversation/${name}.py", line 71 in run_${name}`;
	const own = (name: string) =>
		`  File "/usr/lib/python3.12/${name}.py", line 9 in run`;
	return [
		"Fatal Python error: Segmentation fault",
		"",
		"Thread 0x00007f5f1e7fc6c0 (most recent call first):",
		...[own("selectors"), bridge("channel"), own("threading")],
		"",
		"Current thread 0x00007f5f1f7fe740 (most recent call first):",
		...Array.from({ length: depth }, () => own("ctypes/__init__")),
		'  File "/srv/shop/images.py", line 6 in resize',
		...Array.from({ length: 12 }, (_, at) => bridge(`step${at}`)),
		own("threading"),
		"",
		`Extension modules: ${"numpy.core._multiarray_umath, ".repeat(200)}(total: 200)`,
	];
}
const PLACE = '  File "/srv/shop/images.py", line 6 in resize';

test("the frames of the bridge fold into a line, in output and in a message that quotes it; without tools they stay", () => {
	const folded = foldedFrames(bridgeCrash(1));
	expect(folded.slice(2, 8)).toEqual([
		"Thread 0x00007f5f1e7fc6c0 (most recent call first):",
		"  … 3 frames of the bridge",
		"",
		"Current thread 0x00007f5f1f7fe740 (most recent call first):",
		'  File "/usr/lib/python3.12/ctypes/__init__.py", line 9 in run',
		PLACE,
	]);
	expect(folded.slice(8, 10)).toEqual(["  … 13 frames of the bridge", ""]);
	const quoted = bridgeCrash(1).map((line) => `  | ${line}`);
	expect(foldedFrames(quoted)).toEqual(folded.map((line) => `  | ${line}`));
	expect(foldedFrames(folded)).toEqual(folded);
	const without = bridgeCrash(0).filter((line) => line !== PLACE);
	expect(foldedFrames(without)).toEqual(without);
});

test("however a crash is cut, the innermost frame of the program's own code stays", () => {
	for (const depth of [1, 40]) {
		const crash = bridgeCrash(depth);
		const kept = lastCharacters(["page 3", ...crash], 1_000);
		expect(kept).toContain(PLACE);
		expect(kept).toContain("page 3");
		expect(kept.join("").length).toBeLessThanOrEqual(1_000);
		const tail = new OutputTail(20);
		for (const line of crash) tail.push(line);
		const message = `Worker p-0 was ended by SIGSEGV.${tail.paragraph()}`;
		const cut = bothEnds(message, 2_000);
		expect(cut).toContain(`\n  | ${PLACE}\n`);
		expect(cut.length).toBeLessThanOrEqual(2_010);
		expect(cut).toMatch(/^Worker p-0 .* of the bridge/s);
	}
	// Of threads in which calls run, when the main one waits.
	const threads = Array.from({ length: 40 }, () => [
		"Thread 0x00007f11 (most recent call first):",
		'  File "/usr/lib/python3.12/threading.py", line 982 in wait',
		"",
	]);
	const hung = ["Thread 0x00007f10 (most recent call first):", PLACE, ""];
	expect(lastCharacters([...hung, ...threads.flat()], 1_000)).toContain(PLACE);
	expect(bothEnds("x".repeat(9), 4)).toBe("xx … xx");
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
	// The stacks of a worker that hung: where its tool stood.
	const stacks = [
		"page 3",
		"Thread 0x00007f11 (most recent call first):",
		'  File "/usr/lib/python3.12/threading.py", line 982 in run',
		"",
		"Current thread 0x00007f12 (most recent call first):",
		'  File "/usr/lib/python3.12/socket.py", line 720 in recv',
		'  File "/srv/mail.py", line 7 in render',
		'  File "<frozen runpy>", line 198 in _run_module_as_main',
		"",
	];
	expect(tellingLine(stacks)).toBe("at /srv/mail.py:7 in render");
	expect(tellingLine([...stacks, "paper jam"])).toBe("paper jam");
	expect(tellingLine([])).toBeUndefined();
});

/**
 * A connection on which the other side has sent nothing and ended. Nobody reads it: Node emits "end" all the same,
 * for instance where a worker closes its output before the guard has reported that it runs.
 */
async function endedConnection(): Promise<Socket> {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-ended-"));
	onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
	const path = join(directory, "socket");
	const server = createServer((other) => other.end());
	onTestFinished(() => void server.close());
	server.listen(path);
	await once(server, "listening");
	const socket = connect({ path, allowHalfOpen: true });
	onTestFinished(() => void socket.destroy());
	await once(socket, "end");
	return socket;
}

test("the end of an output that ended before anyone looked is noticed", async () => {
	const output = new ReadOutput(await endedConnection(), systemClock);
	await output.ended;
	expect(output.hasEnded).toBe(true);
});

test("the lines of an output that ended before anyone looked are over", async () => {
	const lines: unknown[] = [];
	const socket = await endedConnection();
	await new Promise<void>((resolve) =>
		readLines(socket, 100, (line) => lines.push(line), resolve, systemClock),
	);
	expect(lines).toEqual([]);
});

test("a control channel that was closed before the launch message fails the start", async () => {
	await expect(
		shakeHands(await endedConnection(), "p-0", "launch"),
	).rejects.toMatchObject({ code: "WORKER_EXITED_EARLY", ran: "no" });
});
