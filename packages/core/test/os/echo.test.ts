import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { Echo } from "../../src/os/echo.ts";

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
