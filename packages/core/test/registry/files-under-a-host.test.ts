import { truncateSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { CommittingHost, filesOfRuns } from "./committing-host.ts";

test.each<[string, (path: string) => void]>([
	["truncated", (path) => truncateSync(path, 0)],
	["overwritten", (path) => writeFileSync(path, Buffer.alloc(40_000, 0xa5))],
])("a host lives on when each file of its run is %s", async (_, damage) => {
	const dataDir = temporaryDirectory();
	const host = new CommittingHost(dataDir);
	await host.answer();
	await host.order("commit");
	for (const path of filesOfRuns(dataDir)) {
		damage(path);
		for (let time = 0; time < 3; time++) await host.order("commit");
		await host.order("flush");
	}
	const { told } = await host.order("commit");
	expect(told).toEqual([]);
});
