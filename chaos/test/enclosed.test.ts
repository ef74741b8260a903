import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const PROGRAM = fileURLToPath(
	new URL("../programs/recycled-pids/round.ts", import.meta.url),
);

test("outside of a private pid namespace a round with recycled pids takes none, and prints how it is started", () => {
	const { status, stderr } = spawnSync(
		process.execPath,
		["--conditions=snakepit-source", PROGRAM, "failedStart", "1"],
		{ encoding: "utf8" },
	);
	expect(stderr).toContain("runs in a private pid namespace only");
	expect(status).toBe(1);
});
