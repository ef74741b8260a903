import { onTestFinished } from "vitest";
import { openRun } from "../../src/run/open-run.ts";
import type { Run } from "../../src/run/run.ts";
import type { RunOptions } from "../../src/run/run-options.ts";
import { EventRecorder } from "../../src/testing.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

export interface RealRun {
	readonly run: Run;
	readonly dataDir: string;
	readonly events: EventRecorder;
}

/** A run on this machine, killed with its jobs after the test. */
export async function realRun(options: RunOptions = {}): Promise<RealRun> {
	const dataDir = temporaryDirectory();
	const events = new EventRecorder();
	const run = await openRun({ ...options, dataDir, onEvent: events.record });
	onTestFinished(() => run.close({ manner: "forced" }));
	return { run, dataDir, events };
}

/** Whether a process of this number lives. */
export function lives(pid: number): boolean {
	return typeof machine.observe(pid) !== "string";
}
