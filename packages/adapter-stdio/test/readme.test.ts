import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const hasSqlite = spawnSync("sqlite3", ["-version"]).status === 0;

test.each<readonly [string, string]>([
	["main.ts", "7\n"],
	["lines.ts", "HELLO\n"],
	...(hasSqlite ? [["sqlite.ts", '[{"answer":42}]\n'] as const] : []),
])("the README's program %s runs", (program, output) => {
	const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
	const place = mkdtempSync(join(import.meta.dirname, ".snippets-"));
	try {
		for (const [, name = "", code = ""] of readme.matchAll(
			/^```(?:js|ts)\n\/\/ (\S+)\n(.*?)^```$/gms,
		))
			writeFileSync(join(place, name), code);
		const { stdout, stderr } = spawnSync(
			process.execPath,
			["--conditions=snakepit-source", program],
			{
				cwd: place,
				encoding: "utf8",
				env: { ...process.env, XDG_STATE_HOME: place },
			},
		);
		expect({ stdout, stderr }).toEqual({ stdout: output, stderr: "" });
	} finally {
		rmSync(place, { recursive: true, force: true });
	}
});
