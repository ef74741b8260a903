import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { Echo } from "../../src/os/this-program.ts";

test("lines that are not read are dropped and counted, and the count is printed when reading continues", async () => {
	const read: string[] = [];
	let readOn: (() => void) | undefined;
	const out = new Writable({
		write(chunk, _encoding, done) {
			read.push(String(chunk));
			if (readOn === undefined) readOn = done;
			else done();
		},
	});
	const echo = new Echo(out);
	const line = "x".repeat(1_000);
	for (let sent = 0; sent < 5_000; sent++) echo.line(line);
	expect(out.writableLength).toBeLessThan(1_100_000);
	const drained = new Promise((resolve) => out.once("drain", resolve));
	readOn?.();
	await drained;
	echo.line("after");
	expect(read.at(-1)).toBe("after\n");
	expect(read.at(-2)).toMatch(/\d{4} lines are missing/);
});

test.each([
	["its colours stay", "\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m\x1b[0m"],
	["the clipboard is not written", "a\x1b]52;c;cm0gLXJm\x07b", "ab"],
	["no title is set", "\x1b]0;root@host\x1b\\x", "x"],
	["the cursor stays", "one\x1b[2A\x1b[2K\bover", "one␈over"],
	["nor with one character", "\x9b2Jx", "<U+009B>2Jx"],
	["a colour that is left on ends", "\x1b[41mred", "\x1b[41mred\x1b[0m"],
	["several lines stay lines", "a\n\tb", "a\n\tb"],
])("of what a worker prints, %s", async (_, printed, shown) => {
	const read: string[] = [];
	const out = new Writable({
		write(chunk, _encoding, done) {
			read.push(String(chunk));
			done();
		},
	});
	new Echo(out).line(printed);
	expect(read).toEqual([`${shown}\n`]);
});

test("an output that is no longer read is not an error of the program", async () => {
	const out = new Writable({
		write: (_chunk, _encoding, done) => done(new Error("write EPIPE")),
	});
	const closed = new Promise((resolve) => out.once("close", resolve));
	new Echo(out).line("nobody reads this");
	await closed;
	expect(out.errored).toMatchObject({ message: "write EPIPE" });
	expect(out.listenerCount("error")).toBe(0);
});
