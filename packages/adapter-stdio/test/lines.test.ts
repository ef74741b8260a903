import { createPool } from "@snakepit/core";
import { adapterContract, startForReal } from "@snakepit/core/testing";
import { describe, expect, test } from "vitest";
import { lines } from "../src/index.ts";
import { dataDirectory } from "./data-directory.ts";

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
	await using pool = await createPool({
		dataDir: dataDirectory(),
		adapter: lines({ command: reverse }),
		callsPerWorker: 4,
		output: { echo: "none" },
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
	await using pool = await createPool({
		dataDir: dataDirectory(),
		adapter: lines({ command: reverse, decode: (line) => JSON.parse(line) }),
		output: { echo: "none" },
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
