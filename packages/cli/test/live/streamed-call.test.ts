import { spawnSync } from "node:child_process";
import { attach } from "@snakepit/control";
import { expect, onTestFinished, test } from "vitest";
import { lookedAtHost } from "../dash/looked-at-host.ts";
import { SNAKEPIT_IN_NODE } from "../run/started.ts";

test("a tool that streams is called as such: its items are printed, and no call has failed", async () => {
	const host = await lookedAtHost(["read", "call"], { size: 1 });
	onTestFinished(() => host.end());
	const [program, ...before] = SNAKEPIT_IN_NODE;
	const call = (...args: readonly string[]) => {
		const { status, stdout, stderr } = spawnSync(
			program,
			[...before, "call", ...args, "--json", "--data-dir", host.dataDir],
			{ encoding: "utf8" },
		);
		expect(status, stderr).toBe(0);
		return JSON.parse(stdout);
	};
	expect(call("countdown", "start=3")).toEqual([3, 2, 1]);
	expect(call("mean", "numbers=[1,2]")).toBe("1.5 m");
	using client = await attach({ dataDir: host.dataDir });
	const { run } = await client.state();
	expect(run.pools[0]?.calls).toMatchObject({
		...{ succeeded: 2, failed: 0 },
	});
}, 90_000);
