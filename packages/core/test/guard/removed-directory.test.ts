import { execFile } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

test("a program whose directory was removed or replaced starts others as without a guard", async () => {
	const scratch = realpathSync(mkdtempSync(join(tmpdir(), "snakepit-guard-")));
	onTestFinished(() => rmSync(scratch, { recursive: true }));
	const program = join(import.meta.dirname, "removed-directory-program.ts");
	const { stdout } = await promisify(execFile)(process.execPath, [
		...["--conditions=snakepit-source", program, scratch],
	]);
	const removed = expect.stringMatching(/removed-.* \(deleted\)$/);
	expect(JSON.parse(stdout)).toEqual({
		...{ removed, elsewhere: scratch, replaced: removed },
	});
});
