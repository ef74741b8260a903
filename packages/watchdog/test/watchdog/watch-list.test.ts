import { expect, test } from "vitest";
import { type HostMessage, WatchList } from "../../src/watchdog/message.ts";

type Run = HostMessage["runId"];
const identity = {
	machineId: "m",
	bootId: "b",
	pidNamespace: "0",
	pid: 7,
	startTime: "1",
};
const run = (runId: string): HostMessage => ({
	type: "run",
	runId: runId as Run,
	owner: identity,
	marker: "x",
	dataDir: "/d",
	runDirectory: "/r",
	graceMs: 0,
	checkIntervalMs: 1000,
});
const watch = (runId: string, incarnation: string): HostMessage => ({
	type: "watch",
	runId: runId as Run,
	incarnation,
	identity,
	groupId: 7,
});

test("workers belong to their run until they end, a run to the host until its farewell", () => {
	const list = new WatchList();
	for (const message of [
		run("aaaaaaa"),
		run("bbbbbbb"),
		watch("aaaaaaa", "a-1"),
		watch("aaaaaaa", "a-2"),
		watch("bbbbbbb", "b-1"),
		watch("ccccccc", "c-1"),
	])
		list.apply(message);
	list.apply({
		type: "unwatch",
		runId: "aaaaaaa" as Run,
		incarnation: "a-1",
	});
	list.apply({ type: "unwatch", runId: "ccccccc" as Run, incarnation: "c-1" });
	// Sent again, as after a restart: nothing is lost.
	list.apply(run("aaaaaaa"));
	const seen = (): readonly string[] =>
		list.runs.map(({ runId, workers }) => `${runId} ${[...workers.keys()]}`);
	expect(seen()).toEqual(["aaaaaaa a-2", "bbbbbbb b-1"]);
	list.apply({ type: "farewell", runId: "aaaaaaa" as Run });
	expect(seen()).toEqual(["bbbbbbb b-1"]);
});
