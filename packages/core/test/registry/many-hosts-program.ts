/**
 * One of many hosts that start at once: starts at its first line of input,
 * measures how long the ledger holds its event loop up, ends at its second.
 */
import { once } from "node:events";
import { openRun } from "../../src/run/open-run.ts";
import type { Measured } from "./many-hosts.test.ts";

console.log("ready");
await once(process.stdin, "data");
const run = await openRun({
	dataDir: process.argv[2],
});
const { cleanupReport: report } = run;
const { registry, host } = run.infrastructure;

let insideMs = 0;
let longestCallMs = 0;
function measured(call: () => void): void {
	const begunAt = performance.now();
	call();
	const ms = performance.now() - begunAt;
	insideMs += ms;
	longestCallMs = Math.max(longestCallMs, ms);
}

const before = registry.statistics().commits;
for (let n = 0; n < 4; n++) {
	const incarnation = registry.nextIncarnation();
	const pid = 4_000_000 + n;
	measured(() =>
		registry.reserve({
			incarnation,
			workerId: `w-${n}`,
			pool: "w",
			fingerprint: "x",
			files: [],
		}),
	);
	await new Promise(setImmediate);
	measured(() => registry.activate(incarnation, { ...host.self, pid }, pid));
	await new Promise(setImmediate);
	measured(() =>
		registry.end(incarnation, {
			exit: undefined,
			reason: "closed",
			killer: "none",
		}),
	);
}
const { longestCommitMs, commits, unwritten } = registry.statistics();
const measurement: Measured = {
	calls: 12,
	commits: commits - before,
	unwritten,
	insideMs,
	longestCallMs,
	longestCommitMs,
	spared: report.sparedRuns.map(({ reason }) => reason),
	touched: report.found + report.deadRuns.length + report.setAside.length,
};
console.log(JSON.stringify(measurement));
await once(process.stdin, "data");
await run.close();
process.exit();
