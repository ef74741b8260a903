/**
 * A host that writes its ledger when it is asked to. Each line of its standard
 * input is an order, and each is answered by one line: the events since, and
 * what is not written.
 */
import { createInterface } from "node:readline";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import { openRun } from "../../src/run/open-run.ts";

const [, , dataDir] = process.argv;
const events: SnakepitEvent[] = [];
const run = await openRun({
	dataDir,
	onEvent: (event) => events.push(event),
});
const { registry, host } = run.infrastructure;

function answer(): void {
	const since = events.splice(0);
	const { unwritten } = registry.statistics();
	const self = { runId: registry.runId, identity: host.self };
	process.stdout.write(
		`${JSON.stringify({ ...self, events: since, unwritten })}\n`,
	);
}

/** A worker that lives, and one that ended. */
function commit(): void {
	for (const lives of [true, false]) {
		const incarnation = registry.nextIncarnation();
		registry.reserve({
			incarnation,
			workerId: "w-0",
			pool: "w",
			fingerprint: "nobody",
			files: [],
		});
		const pid = 4_190_000;
		registry.activate(incarnation, { ...host.self, pid, startTime: "1" }, pid);
		if (!lives)
			registry.end(incarnation, {
				exit: undefined,
				reason: "closed",
				killer: "none",
			});
	}
}

answer();
for await (const order of createInterface({ input: process.stdin })) {
	if (order === "commit") commit();
	// As the auditor does at each of its looks.
	if (order === "flush") registry.flush();
	answer();
}
process.exit();
