import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { tablesPython } from "../../../scripts/tables-python.ts";

const example = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string): string =>
	readFileSync(join(example, path), "utf8");

const python = tablesPython() ?? "";
const why =
	python === "" ? " (skipped: pandas and pyarrow could not be installed)" : "";

test.runIf(python)(
	`the example prints what its README states, and ends by itself${why}`,
	async () => {
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
	},
	60_000,
);

test.runIf(python)(
	`the types in TypeScript are those of its tools${why}`,
	() => {
		const { status, stderr } = spawnSync(
			python,
			[
				...["-m", "snakepit_bridge", "types", "tools.py"],
				...["--check", "src/gen/tools.ts"],
			],
			{ cwd: example, encoding: "utf8" },
		);
		expect(stderr).toBe("");
		expect(status).toBe(0);
	},
	60_000,
);

test("the snippet of its README is part of the main program", () => {
	const [, code = ""] =
		/^```ts\n([\s\S]*?)^```$/m.exec(read("README.md")) ?? [];
	expect(code).not.toBe("");
	expect(read("src/main.ts")).toContain(code);
});
