import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

const CALLS = 30_000;

/** Bytes that the collections of the young generation had to copy, for each of many calls. */
function copiedPerCall(how: "alone" | "followed"): number {
	const output = execFileSync(
		process.execPath,
		[
			...["--expose-gc", "--trace-gc-nvp", "--conditions=snakepit-source"],
			new URL("garbage-program.ts", import.meta.url).pathname,
			...[String(CALLS), how],
		],
		{ encoding: "utf8", timeout: 60_000 },
	);
	const begin = output.indexOf("BEGIN\n");
	const collections = output
		.slice(begin, output.indexOf("END\n", begin))
		.split("\n")
		.filter((line) => / gc=s /.test(line));
	expect(collections.length).toBeGreaterThan(1);
	const copied = collections.map(
		(line) => figure(line, "promoted") + figure(line, "new_space_survived"),
	);
	return copied.reduce((sum, each) => sum + each, 0) / CALLS;
}

function figure(line: string, name: string): number {
	const [, digits] = new RegExp(` ${name}=(\\d+)`).exec(line) ?? [];
	if (digits === undefined) throw new TypeError(`no ${name} in: ${line}`);
	return Number(digits);
}

// Of 16 calls under way something is copied in each collection. A chain of calls that are over was 1,000 bytes a call.
test("a call that is over is garbage for the next collection", () => {
	expect(copiedPerCall("alone")).toBeLessThan(300);
});

test("and what an instrument keeps for it", () => {
	expect(copiedPerCall("followed")).toBeLessThan(300);
});
