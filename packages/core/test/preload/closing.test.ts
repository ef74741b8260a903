import { expect, onTestFinished, test } from "vitest";
import { openRun } from "../../src/run/open-run.ts";
import { EventRecorder } from "../../src/testing.ts";
import { eventually, temporaryDirectory } from "../cleanup/hosts.ts";

/** It never says that it is ready, as one that imports for a long time. */
const PROGRAM = {
	executable: "/bin/sh",
	args: ["-c", "exec sleep 100000"],
	launchPayload: {},
};

test.runIf(process.platform === "linux").each(["gentle", "forced"] as const)(
	"a %s close while the preloaded parent starts ends it, with the starts that wait for it",
	async (manner) => {
		const events = new EventRecorder();
		const run = await openRun({ dataDir: temporaryDirectory() });
		onTestFinished(() => run.close({ manner: "forced" }));
		const opening = run.createPool({
			adapter: {
				name: "imports",
				preload: () => PROGRAM,
				launch: () => PROGRAM,
				connect: () => expect.unreachable(),
			},
			size: 2,
			heartbeat: "off",
			output: { echo: "none" },
			onEvent: events.record,
		});
		const refused = expect(opening).rejects.toMatchObject({
			name: "StartError",
			code: "START_WITHDRAWN",
		});
		await eventually("its process", () =>
			run.registry
				.living()
				.some(
					({ workerId, status }) =>
						workerId === "imports-preload" && status === "active",
				),
		);
		await run.close({ manner });
		await refused;
		expect(run.registry.living()).toEqual([]);
		expect(events.of("preload.started")).toEqual([]);
		expect(events.of("preload.unavailable")).toEqual([]);
	},
);
