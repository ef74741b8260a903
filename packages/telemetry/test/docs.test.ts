import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const own = join(import.meta.dirname, "..");
const root = join(own, "../..");

/** A fenced block whose first line names its file is part of a program. */
const BLOCK = /^```(?:ts|py)\n(?:\/\/|#) (\S+\.(?:ts|py))\n(.*?)^```$/gms;

test("the program in the README runs, prints what its comments say, and logs its events", {
	timeout: 120_000,
}, async () => {
	// Inside the package, so that its imports resolve as a user's would.
	const directory = join(own, ".snippets-readme");
	rmSync(directory, { recursive: true, force: true });
	mkdirSync(directory);
	onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
	const page = readFileSync(join(own, "README.md"), "utf8");
	for (const [, name = "", text = ""] of page.matchAll(BLOCK))
		writeFileSync(join(directory, name), text);
	const { stdout, stderr } = await promisify(execFile)(
		process.execPath,
		["--conditions=snakepit-source", "program.ts"],
		{
			cwd: directory,
			env: { ...process.env, VIRTUAL_ENV: join(root, "python/.venv") },
		},
	);
	expect(stdout).toBe("7\n");
	expect(stderr).toContain("[snakepit] pool python has 2 workers");
});

test("the alerts in docs/telemetry.md are those of the rules", () => {
	const names = (text: string, pattern: RegExp): readonly string[] =>
		[...text.matchAll(pattern)].map(([, name = ""]) => name);
	const page = readFileSync(join(root, "docs/telemetry.md"), "utf8");
	const rules = readFileSync(join(own, "prometheus/alerts.yml"), "utf8");
	expect(names(page, /^\| `(Snakepit\w+)`/gm)).toEqual(
		names(rules, /- alert: (\w+)/g),
	);
});
