import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import {
	leftoversAreSeen,
	leftoversOf,
} from "../../../../scripts/leftovers.ts";
import { root } from "../../../../scripts/run.ts";
import { isThorough } from "../../../../scripts/test-effort.ts";
import { LEFTOVERS, TEST_RUN } from "../../../../scripts/test-mark.ts";

test.runIf(leftoversAreSeen && isThorough())(
	"a process that a test leaves with the output of vitest's worker does not keep vitest waiting",
	{ timeout: 120_000 },
	async () => {
		const run = `leaves-${randomUUID()}`;
		const seen = join(mkdtempSync(join(tmpdir(), "left-")), "leftovers");
		const vitest = spawn(
			process.execPath,
			[
				...[join(root, "node_modules/vitest/vitest.mjs"), "run"],
				...[
					"--config",
					join(import.meta.dirname, "leaves-a-process/vitest.config.ts"),
				],
				...[
					"--reporter=default",
					`--reporter=${join(root, "scripts/test-reporter.ts")}`,
				],
			],
			{
				cwd: root,
				env: { ...process.env, [TEST_RUN]: run, [LEFTOVERS]: seen },
				stdio: ["ignore", "pipe", "pipe"],
			},
		);
		const [printed, errors] = await Promise.all([
			text(vitest.stdout),
			text(vitest.stderr),
			once(vitest, "close"),
		]);
		expect(printed).toContain("1 passed");
		expect(errors).toMatch(/vitest left processes behind[\s\S]*sleep 600/);
		expect(readFileSync(seen, "utf8")).toBe("1");
		expect(await leftoversOf(run, 0)).toEqual([]);
	},
);
