import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

test("the example's main program counts the words of every sentence and ends by itself", async () => {
	const home = await mkdtemp(join(tmpdir(), "snakepit-example-"));
	try {
		const { stdout } = await promisify(execFile)(
			process.execPath,
			["--conditions=snakepit-source", main],
			{ env: { ...process.env, XDG_STATE_HOME: home } },
		);
		expect(stdout.trim().split("\n")).toEqual([
			'The pool owns the process. {"the":2,"pool":1,"owns":1,"process":1}',
			'The adapter owns the conversation. {"the":2,"adapter":1,"owns":1,"conversation":1}',
			'Who kills? {"who":1,"kills":1}',
			'The pool! {"the":1,"pool":1}',
		]);
	} finally {
		await rm(home, { recursive: true, force: true });
	}
}, 30_000);
