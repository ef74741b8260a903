import { execFileSync } from "node:child_process";
import { adapterContract, startForReal } from "@snakepit/core/testing";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../../../scripts/test-data-directory.ts";
import { testPool } from "../../../scripts/test-pool.ts";
import { type LinesOptions, lines } from "../src/index.ts";

/** Answers each line with its words in reverse order; has a habit for each of some words. */
const reverse = [
	"perl",
	"-ne",
	`BEGIN { $| = 1 } chomp;
	print "boom\\n" x 2 and next if $_ eq "twice";
	print "x" x 200000, "\\n" and exit if $_ eq "finish";
	close STDOUT and next if $_ eq "mute";
	$linger = 0.3 if $_ eq "linger";
	print join(" ", reverse split / /), "\\n";
	END { select undef, undef, undef, $linger // 0 }`,
] as const;

describe("lines() keeps the adapter contract", () => {
	const contract = adapterContract({
		adapter: () =>
			lines({
				command: reverse,
				encode: (command, args) => {
					if (command === "reverse") return String(args);
					throw new Error(`there is no ${command}`);
				},
			}),
		start: (adapter) => startForReal(adapter),
		commands: {
			echo: { command: "reverse", args: "a b c", result: "c b a" },
			endOutput: { command: "reverse", args: "mute" },
			lastAnswer: {
				...{ command: "reverse", args: "finish" },
				result: "x".repeat(200_000),
			},
			leaveSlowly: { command: "reverse", args: "linger" },
		},
	});
	test.each(contract.filter(({ title }) => !/unknown command/.test(title)))(
		"$title",
		({ run }) => run(),
	);
});

test("a pool of them answers in the order of the calls, and replaces one that answers too often", async () => {
	const { pool } = await testPool({
		adapter: lines({ command: reverse }),
		callsPerWorker: 4,
	});
	const texts = Array.from({ length: 20 }, (_, at) => `${at} x`);
	const answers = await Promise.all(
		texts.map((text) => pool.execute("reverse", text)),
	);
	expect(answers).toEqual(
		texts.map((text) => text.split(" ").reverse().join(" ")),
	);

	expect(await pool.execute("reverse", "twice")).toBe("boom");
	expect(await pool.execute("reverse", "after that")).toBe("that after");
});

test("what is not one line is refused, and what `decode` throws is the tool's error", async () => {
	const { pool } = await testPool({
		adapter: lines({ command: reverse, decode: (line) => JSON.parse(line) }),
	});
	for (const args of ["two\nlines", 5, null, undefined])
		await expect(pool.execute("reverse", args)).rejects.toMatchObject({
			code: "INVALID_ARGUMENTS",
			ran: "no",
		});
	await expect(pool.execute("reverse", "no json")).rejects.toMatchObject({
		code: "TOOL_FAILED",
	});
	expect(await pool.execute("reverse", "1")).toBe(1);
});

/** Answers each line with that many lines: "3" with "1", "2", "3". */
const count = (end: string): readonly string[] => [
	"perl",
	"-ne",
	`BEGIN { $| = 1; print "Welcome.\n> " if "${end}" eq "> " } chomp;
	for my $each (1 .. $_) { print "$each\r\n" }
	print "${end}"`,
];

test.each<[string, string, LinesOptions["until"]]>([
	["a line", "done\\n", { line: "done" }],
	["a line that matches", "done in 3 ms\\n", { line: /^done in \d+ ms$/g }],
	["a prompt", "> ", { prompt: "> " }],
])("answers of several lines end at %s", async (_, end, until) => {
	const { pool } = await testPool({
		adapter: lines({ command: count(end), until }),
		callsPerWorker: 4,
	});
	const calls = ["3", "0", "1", "0", "0", "2"];
	const answers = await Promise.all(
		calls.map((each) => pool.execute("count", each)),
	);
	expect(answers).toEqual(["1\n2\n3", "", "1", "", "", "1\n2"]);
});

test("an answer without a line break at its end ends at the prompt behind it", async () => {
	const echo = [
		...["perl", "-ne"],
		"BEGIN { $| = 1; print '> ' } chomp; print; print '> '",
	];
	const { pool } = await testPool({
		adapter: lines({ command: echo, until: { prompt: "> " } }),
	});
	for (const text of ["abc", "", "a > b", ">", "x".repeat(200_000)])
		expect(await pool.execute("echo", text)).toBe(text);
});

test("with a terminator a call may have several lines, as those of git cat-file", async () => {
	const directory = temporaryDirectory();
	const git = (...words: string[]) =>
		execFileSync("git", ["-C", directory, ...words], {
			input: "one\ntwo\n",
			encoding: "utf8",
		}).trim();
	git("init", "--quiet");
	const object = git("hash-object", "-w", "--stdin");
	const { pool } = await testPool({
		adapter: lines({
			command: ["git", "-C", directory, "cat-file", "--batch"],
			// It answers that there is no such object.
			encode: (_, args) => `${args}\nend-of-answer`,
			until: { line: "end-of-answer missing" },
		}),
	});
	const expected = `${object} blob 8\none\ntwo\n`;
	expect(await pool.execute("cat", object)).toBe(expected);
	expect(await pool.execute("cat", object)).toBe(expected);
	expect(await pool.execute("cat", "nothing")).toBe("nothing missing");
});

test("a program that prints no prompt does not start, and the error names the prompt", async () => {
	await expect(
		testPool({
			adapter: lines({ command: ["cat"], until: { prompt: "> " } }),
			start: { timeoutMs: 1_000 },
		}),
	).rejects.toMatchObject({
		code: "START_TIMEOUT",
		message: expect.stringContaining("its first prompt"),
	});
});

test("lines that answer no call replace the worker, with a terminator as without", async () => {
	const { pool, events } = await testPool({
		adapter: lines({
			command: ["perl", "-ne", "BEGIN { $| = 1 } print; print qq(end\nmore\n)"],
			until: { line: "end" },
		}),
	});
	expect(await pool.execute("echo", "first")).toBe("first");
	expect(await pool.execute("echo", "second")).toBe("second");
	await events.waitFor("worker.exited", ({ reason }) => reason === "broken");
});

test.each([
	{},
	{ line: "" },
	{ line: "two\nlines" },
	{ prompt: 5 },
	{ line: "a", prompt: "b" },
])("an end of answers that is none is refused: %j", (until) => {
	expect(() =>
		lines({ command: ["cat"], until: until as unknown as { line: string } }),
	).toThrow(
		expect.objectContaining({
			code: "INVALID_OPTION",
			message: expect.stringContaining("until"),
		}),
	);
});
