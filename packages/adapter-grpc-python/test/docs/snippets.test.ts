import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const own = fileURLToPath(new URL("../..", import.meta.url));

/** A fenced block whose first line names its file is part of a program. */
const BLOCK =
	/^```(?:ts|py)(?: packed)?\n(?:\/\/|#) (\S+\.(?:ts|py))\n(.*?)^```$/gms;

test.each([
	"README.md",
	"docs/quickstart.md",
	"packages/adapter-grpc-python/README.md",
])(
	"the program in %s runs and prints what its comments say",
	{ timeout: 120_000 },
	async (page) => {
		// Inside the package, so that its imports resolve as a user's would.
		const directory = join(own, `.snippets-${basename(page)}-${page.length}`);
		rmSync(directory, { recursive: true, force: true });
		mkdirSync(directory);
		onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
		const blocks = [...readFileSync(join(root, page), "utf8").matchAll(BLOCK)];
		for (const [, name = "", text = ""] of blocks)
			writeFileSync(join(directory, name), text);
		const programs = blocks.filter(([, name]) => name?.endsWith(".ts"));
		expect(programs.length).toBeGreaterThan(0);
		for (const [, name = "", text = ""] of programs) {
			const { stdout } = await promisify(execFile)(
				process.execPath,
				["--conditions=snakepit-source", name],
				{
					cwd: directory,
					env: { ...process.env, VIRTUAL_ENV: join(root, "python/.venv") },
				},
			);
			const words = stdout.split(/\s+/).join(" ");
			const promised = [
				...text.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm),
			].map(([, comment]) => comment ?? "");
			for (const comment of promised) expect(words).toContain(comment);
		}
	},
);
