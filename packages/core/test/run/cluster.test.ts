import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

test("a worker of node:cluster can be disconnected while its own workers run", async () => {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-cluster-"));
	onTestFinished(() => rmSync(dataDir, { recursive: true }));
	const program = join(import.meta.dirname, "cluster-program.ts");
	const { stdout } = await promisify(execFile)(process.execPath, [
		...["--conditions=snakepit-source", program, dataDir],
	]);
	expect(JSON.parse(stdout)).toEqual({ code: 7, signal: null });
});
