import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { counted, duration } from "./figures.ts";
import {
	drawLeftover,
	type Leftover,
	leftoversOf,
	type Trail,
	trailOfHost,
} from "./leftovers.ts";
import type { Line } from "./line.ts";
import { seeProcesses } from "./process-table.ts";
import { shareIn } from "./progress-bar.ts";

/** In full flight: some answers are there, and the demo's own kill is still to come. */
const KILL_AT_SHARE = 0.2;
/** After this nothing may be left. */
const LIMIT_MS = 1_000;
/** How long to go on looking at what should not be there. */
const PATIENCE_MS = 15_000;

/**
 * Runs the demo in a child, kills that with SIGKILL in full flight, and looks at
 * the system until nothing of it is left.
 *
 * @param flags - Of the child.
 * @returns the exit code: 0 when nothing was left within a second.
 */
export async function killHost(
	program: string,
	flags: readonly string[],
	show: (line: Line) => void,
): Promise<number> {
	const say = (text: string) => show([["plain", text]]);
	const host = spawn(
		process.execPath,
		[...process.execArgv, program, ...flags],
		{
			stdio: ["ignore", "pipe", "inherit"],
		},
	);
	const exited = once(host, "exit");
	const share = await inFullFlight(host.stdout, (line) =>
		show([["faint", `host | ${line}`]]),
	);
	const { pid } = host;
	if (pid === undefined || share === undefined) {
		await exited;
		say("The host ended before it was in full flight; its last lines say why.");
		return 1;
	}
	const trail = trailOfHost(pid, seeProcesses());
	const begunMs = performance.now();
	process.kill(pid, "SIGKILL");
	say(
		`killed host ${pid} with SIGKILL when ${share * 100} % was read; it had ${counted(trail.groups.size, "worker")}`,
	);
	const { leftovers, tookMs, looks } = await untilNothingIsLeft(trail, begunMs);
	await exited;

	const inTime = leftovers.length === 0 && tookMs <= LIMIT_MS;
	show([
		["faint", "left         "],
		[
			inTime ? "good" : "bad",
			leftovers.length === 0
				? `nothing after ${duration(tookMs)}`
				: `${counted(leftovers.length, "process", "processes")} after ${duration(tookMs)}`,
		],
		[
			"faint",
			`  by group or marker, in ${counted(looks, "look")}; the limit is ${duration(LIMIT_MS)}`,
		],
	]);
	leftovers.map(drawLeftover).forEach(show);
	return inTime && trail.groups.size > 0 ? 0 : 1;
}

/** Reads what the host says until it is in full flight: how far it is then, or `undefined` when it ended before. */
async function inFullFlight(
	output: Readable,
	heard: (line: string) => void,
): Promise<number | undefined> {
	for await (const line of createInterface({ input: output })) {
		heard(line);
		const share = shareIn(line);
		if (share !== undefined && share >= KILL_AT_SHARE) return share;
	}
	return undefined;
}

interface LastLook {
	readonly leftovers: readonly Leftover[];
	/** Until the end of the look that found nothing: the truth is a little less. */
	readonly tookMs: number;
	readonly looks: number;
}

async function untilNothingIsLeft(
	trail: Trail,
	begunMs: number,
): Promise<LastLook> {
	for (let looks = 1; ; looks++) {
		const leftovers = leftoversOf(trail, seeProcesses());
		const tookMs = performance.now() - begunMs;
		if (leftovers.length === 0 || tookMs > PATIENCE_MS)
			return { leftovers, tookMs, looks };
		// To look costs a processor, which those that are ending need.
		await sleep(1);
	}
}
