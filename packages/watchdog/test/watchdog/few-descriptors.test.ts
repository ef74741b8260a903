import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

interface Said {
	/** Why there was no watchdog. */
	readonly failure?: string;
	readonly uncaught: readonly string[];
}

test("a watchdog that lacks a descriptor says so, and does not end the program", {
	timeout: 60_000,
}, () => {
	const program = join(import.meta.dirname, "few-descriptors-program.ts");
	const { stdout } = spawnSync(
		"/bin/sh",
		[
			...["-c", 'ulimit -n 400 && exec "$@"', "sh"],
			...[process.execPath, "--conditions=snakepit-source", program],
		],
		{ encoding: "utf8", timeout: 30_000, stdio: ["ignore", "pipe", "inherit"] },
	);
	const said: Said[] = stdout
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line));
	expect(said.flatMap(({ uncaught }) => uncaught)).toEqual([]);
	const failures = said.flatMap(({ failure }) => failure ?? []);
	expect(failures.length).toBeGreaterThan(3);
	// An attempt that failed has kept none.
	expect(failures.length).toBeLessThan(30);
	expect(said.at(-1)?.failure).toBeUndefined();
});
