import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const PROGRAM = fileURLToPath(
	new URL("../programs/enclosed-round.ts", import.meta.url),
);

test.each([["failed-start"], ["reuse-a-pid"]])(
	"outside of a private pid namespace the round %s takes no pid and prints how it is started",
	(name) => {
		const { status, stderr } = spawnSync(
			process.execPath,
			["--conditions=snakepit-source", PROGRAM, name, "1", "1"],
			{ encoding: "utf8" },
		);
		expect(stderr).toContain("runs in a private pid namespace only");
		expect(status).toBe(1);
	},
);
