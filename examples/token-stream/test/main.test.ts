import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const example = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string): string =>
	readFileSync(join(example, path), "utf8");
const python = join(example, "../../python/.venv/bin/python");

test("the example prints what its README states, and ends by itself", async () => {
	const home = mkdtempSync(join(tmpdir(), "snakepit-example-"));
	try {
		const { stdout } = await promisify(execFile)(
			process.execPath,
			["--conditions=snakepit-source", "src/main.ts", python],
			{ cwd: example, env: { ...process.env, XDG_STATE_HOME: home } },
		);
		expect(read("README.md")).toContain(`\`\`\`\n${stdout}\`\`\`\n`);
		expect(stdout.split("\n")).toHaveLength(9);
	} finally {
		rmSync(home, { recursive: true, force: true });
	}
}, 60_000);

test("the types in TypeScript are those of its tool", () => {
	const { status, stderr } = spawnSync(
		python,
		[
			...["-m", "snakepit_bridge", "types", "language_model.py"],
			...["--check", "src/gen/tools.ts"],
		],
		{ cwd: example, encoding: "utf8" },
	);
	expect(stderr).toBe("");
	expect(status).toBe(0);
}, 60_000);

test("the snippets of its README are parts of its files", () => {
	const snippets = [
		...read("README.md").matchAll(/^```(?:ts|python)\n([\s\S]*?)^```$/gm),
	];
	expect(snippets).toHaveLength(2);
	const sources = read("language_model.py") + read("src/main.ts");
	for (const [, code = ""] of snippets) expect(sources).toContain(code);
});
