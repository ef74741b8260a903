import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const own = join(import.meta.dirname, "../..");
/** A fenced block whose first line names its file is a program. */
const BLOCK = /^```ts\n\/\/ (\S+\.ts)\n(.*?)^```$/gms;

test("the programs in docs/jobs.md run and print what their comments say", {
	timeout: 120_000,
}, async () => {
	// Inside the package, so that its imports resolve as a user's would.
	const directory = mkdtempSync(join(own, ".snippets-"));
	onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
	const page = readFileSync(join(own, "../../docs/jobs.md"), "utf8");
	const programs = [...page.matchAll(BLOCK)];
	expect(programs.length).toBeGreaterThan(4);
	for (const [block, name = "", text = ""] of programs) {
		writeFileSync(
			join(directory, name),
			block.split("\n").slice(1, -1).join("\n"),
		);
		const { stdout } = await promisify(execFile)(
			process.execPath,
			["--conditions=snakepit-source", name],
			{
				cwd: directory,
				env: { ...process.env, XDG_STATE_HOME: directory },
			},
		);
		const promised = [...text.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)];
		expect(promised.length).toBeGreaterThan(0);
		expect(stdout).toBe(promised.map(([, comment]) => `${comment}\n`).join(""));
	}
});
