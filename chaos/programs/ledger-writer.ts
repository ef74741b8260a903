// Writes to its ledger as fast as it can, and tells of each row once the ledger
// has taken it. No processes: the rows are of pids that never were.
import { acquireRun } from "@snakepit/core/registry";

const run = await acquireRun({
	dataDir: process.argv[2],
	strategy: undefined,
	emit: () => {},
});
const { registry, host } = run;

/** Written at once: what was told before SIGKILL was told. */
function tell(line: string): void {
	process.stdout.write(`${line}\n`);
}

tell(`run ${registry.runId}`);
for (let pid = 4_000_000; ; pid++) {
	const incarnation = registry.nextIncarnation();
	registry.reserve({
		incarnation,
		workerId: "w-0",
		pool: "w",
		fingerprint: "nobody",
		files: [],
	});
	tell(`reserved ${incarnation}`);
	registry.activate(incarnation, { ...host.self, pid, startTime: "1" }, pid);
	tell(`active ${incarnation}`);
	if (pid % 2 === 0) {
		registry.end(incarnation, {
			exit: undefined,
			reason: "closed",
			killer: "none",
		});
		tell(`ended ${incarnation}`);
	}
	await new Promise(setImmediate);
}
