import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test.each([
	["recycled-pids/round.ts", ["failed-start", "1"]],
	["enclosed-round.ts", ["reuse-a-pid", "1"]],
])(
	"outside of a private pid namespace %s takes nobody's pid and says how it is started",
	(program, args) => {
		const path = fileURLToPath(
			new URL(`../programs/${program}`, import.meta.url),
		);
		const { status, stderr } = spawnSync(
			process.execPath,
			["--conditions=snakepit-source", path, ...args],
			{ encoding: "utf8" },
		);
		expect(stderr).toContain("runs in a private pid namespace only");
		expect(status).toBe(1);
	},
);
