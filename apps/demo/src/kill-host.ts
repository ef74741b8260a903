import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { counted, duration, percentOf } from "./digits.ts";
import {
	leftoversOf,
	listProcesses,
	printLeftovers,
	traceOf,
} from "./processes.ts";

/** When the host is killed: some answers are there, and no worker has been killed yet. */
const KILL_HOST_AT_PERCENT = 20;
/** How long after that something may be left. */
const GONE_WITHIN_MS = 1_000;
/** How long to go on looking for what should be gone. */
const LOOK_FOR_MS = 15_000;

/** Runs the demo in a child, kills it with SIGKILL, and looks at the system until nothing of it is left. */
export async function killHost(program: string): Promise<number> {
	const args = process.argv.slice(2).filter((arg) => arg !== "--kill-host");
	const host = spawn(
		process.execPath,
		[...process.execArgv, program, ...args],
		{ stdio: ["ignore", "pipe", "inherit"] },
	);
	const exited = once(host, "exit");
	let percent = 0;
	for await (const line of createInterface({ input: host.stdout })) {
		console.log(`host | ${line}`);
		percent = percentOf(line) ?? percent;
		if (percent >= KILL_HOST_AT_PERCENT) break;
	}
	if (host.pid === undefined || percent < KILL_HOST_AT_PERCENT) {
		await exited;
		console.log("The host ended too early; its last lines say why.");
		return 1;
	}
	const trace = traceOf(host.pid, listProcesses());
	const killedAtMs = performance.now();
	host.kill("SIGKILL");
	console.log(
		`killed host ${host.pid} with SIGKILL when ${percent} % was read; it had ${counted(trace.groups.size, "process group")}`,
	);
	let leftovers = leftoversOf(trace, listProcesses());
	// An upper bound: what the last look did not find ended before it.
	let tookMs = performance.now() - killedAtMs;
	while (leftovers.length > 0 && tookMs <= LOOK_FOR_MS) {
		// Looking takes processor time that the ending processes need.
		await pause(1);
		leftovers = leftoversOf(trace, listProcesses());
		tookMs = performance.now() - killedAtMs;
	}
	await exited;
	printLeftovers(
		leftovers,
		`, after ${duration(tookMs)}; the limit is ${duration(GONE_WITHIN_MS)}`,
	);
	const isInTime = leftovers.length === 0 && tookMs <= GONE_WITHIN_MS;
	return isInTime && trace.groups.size > 0 ? 0 : 1;
}
