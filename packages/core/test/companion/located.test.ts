import { expect, test } from "vitest";
import type { CompanionSlot } from "../../src/contract/launch.ts";
import { craftRun, deadOwner } from "../cleanup/crafted-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { companionBench } from "./companion-bench.ts";

test("the first companion of a pool is asked where the hosts of other machines are, and what it says is reported", async () => {
	const dataDir = temporaryDirectory();
	const { name } = await craftRun(dataDir, deadOwner({ machineId: "another" }));
	const { events, adapter, open, next, signal } = await companionBench(dataDir);
	const asked: CompanionSlot["runsElsewhere"][] = [];
	const location = { name: "gpu-7", address: "10.0.0.7" };
	await open({
		adapter: {
			...adapter,
			companion: (at) => {
				asked.push(at.runsElsewhere);
				return adapter.companion(at);
			},
			located: ({ ready }) => {
				expect(ready).toEqual({ secret: 42 });
				return [{ runId: name.runId, location, owner: "alive" }];
			},
		},
	});
	const again = next("companion.started");
	signal("SIGKILL");
	await again;
	expect(asked).toEqual([[name.runId], []]);
	expect(events.of("run.located")).toMatchObject([
		{ ofRun: name.runId, location, owner: "alive" },
	]);
});
