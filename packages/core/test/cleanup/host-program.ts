/**
 * A host in a process of its own: takes a run, starts workers the way the pool
 * does, reports on standard output, and follows orders on standard
 * input.
 */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { testMark } from "../../../../scripts/test-mark.ts";
import {
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
} from "../../src/contract/identity.ts";
import { openRun } from "../../src/run/open-run.ts";
import type { HostOrder, HostReport } from "./hosts.ts";

const order = JSON.parse(process.argv[2] ?? "") as HostOrder;
const events: unknown[] = [];
const run = await openRun({
	dataDir: order.dataDir,
	// What a host leaves that had no guard.
	guard: "off",
	onEvent: Object.assign((event: unknown) => void events.push(event), {
		shows: ["orphan.reaped" as const],
	}),
});
const { registry, host } = run.infrastructure;
host.keepAlive();
const bestiary = join(import.meta.dirname, "../bestiary");

const pids: number[] = [];
for (const habit of order.workers ?? []) {
	const incarnation = registry.nextIncarnation();
	registry.reserve({
		incarnation,
		workerId: `w-${pids.length}`,
		pool: "w",
		fingerprint: habit,
		files: [],
	});
	const program = join(bestiary, habit);
	const worker = await host.source.start(
		{
			executable: habit.endsWith(".cjs") ? process.execPath : program,
			args: habit.endsWith(".cjs") ? [program] : [],
			env: {
				PATH: process.env["PATH"] ?? "",
				...testMark(),
				[MARKER_VARIABLE]: run.infrastructure.marker,
				[INCARNATION_VARIABLE]: incarnation,
			},
			cwd: undefined,
			stdin: "empty",
			control: false,
		},
		(identity) => {
			pids.push(identity.pid);
			if (order.diesBeforeRecording) {
				process.stdout.write(`${JSON.stringify(pids)}\n`);
				process.kill(process.pid, "SIGKILL");
			}
			registry.activate(incarnation, identity, identity.pid);
		},
	);
	await new Promise((resolve) => worker.stdout.once("data", resolve));
}

const report: HostReport = {
	runId: registry.runId,
	self: host.self,
	pids,
	runDirectory: run.infrastructure.runDirectory,
	report: run.cleanupReport,
};
process.stdout.write(`${JSON.stringify(report)}\n`);

for await (const line of createInterface({ input: process.stdin })) {
	if (line === "release") {
		await run.close();
		break;
	}
}
process.exit();
