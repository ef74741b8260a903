import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const source = fileURLToPath(new URL("../src", import.meta.url));
const python = fileURLToPath(
	new URL("../../../python/.venv/bin/python", import.meta.url),
);

test("each cell of the notebook uses the objects that the cells before have made", async () => {
	const home = await mkdtemp(join(tmpdir(), "snakepit-example-"));
	try {
		const { stdout } = await promisify(execFile)(
			process.execPath,
			["--conditions=snakepit-source", join(source, "main.ts")],
			{ env: { ...process.env, XDG_STATE_HOME: home } },
		);
		expect(stdout.trim().split("\n")).toEqual([
			"changes: 4",
			"10 31",
			"11 34",
			"a model.Line",
			"at noon: [ 37 ]",
			"slope: 3.00",
			"at 13: 40",
		]);
	} finally {
		await rm(home, { recursive: true, force: true });
	}
}, 60_000);

test("its types are those of its tools", () => {
	const { status, stderr } = spawnSync(
		python,
		[
			...["-m", "snakepit_bridge", "types", join(source, "model.py")],
			...["--check", join(source, "gen/model.ts")],
		],
		{ encoding: "utf8" },
	);
	expect(stderr).toBe("");
	expect(status).toBe(0);
});
