import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testMark } from "../../../../scripts/test-mark.ts";

interface Said {
	readonly free: number;
	readonly said: string;
	readonly open: number;
}

test.runIf(process.platform === "linux")(
	"a start that lacks a descriptor keeps none",
	{ timeout: 60_000 },
	() => {
		const program = join(
			import.meta.dirname,
			"spawn-without-descriptors-program.ts",
		);
		const { stdout } = spawnSync(
			"/bin/sh",
			[
				...["-c", 'ulimit -Sn 80 && exec "$@"', "sh"],
				...[process.execPath, "--conditions=snakepit-source", program],
			],
			{
				encoding: "utf8",
				timeout: 50_000,
				stdio: ["ignore", "pipe", "inherit"],
				env: { ...process.env, ...testMark() },
			},
		);
		const said: Said[] = stdout
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line));
		expect(said.at(-1)?.said).toBe("ok");
		// Five pipes of two ends each, and two more.
		expect(said.length).toBe(13);
		const failed = said.slice(0, -1);
		expect(new Set(failed.map((each) => each.said))).toEqual(
			new Set(["SPAWN_FAILED"]),
		);
		expect(new Set(failed.map(({ open }) => open)).size).toBe(1);
	},
);
