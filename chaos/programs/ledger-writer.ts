// Writes to its ledger as fast as it can, and prints each row once the ledger
// has taken it. It starts no processes: the rows have pids that never existed.
import { openRun } from "@snakepit/core";

const run = await openRun({ dataDir: process.argv[2] });
const { registry, host } = run.infrastructure;

/** Written synchronously: what was acknowledged before SIGKILL is out. */
function acknowledge(line: string): void {
	process.stdout.write(`${line}\n`);
}

acknowledge(`run ${registry.runId}`);
for (let pid = 4_000_000; ; pid++) {
	const incarnation = registry.nextIncarnation();
	registry.reserve({
		incarnation,
		workerId: "w-0",
		pool: "w",
		fingerprint: "nobody",
		files: [],
	});
	acknowledge(`reserved ${incarnation}`);
	registry.activate(incarnation, { ...host.self, pid, startTime: "1" }, pid);
	acknowledge(`active ${incarnation}`);
	if (pid % 2 === 0) {
		registry.end(incarnation, {
			exit: undefined,
			reason: "closed",
			killer: "none",
		});
		acknowledge(`ended ${incarnation}`);
	}
	await new Promise(setImmediate);
}
