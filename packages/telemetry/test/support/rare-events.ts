import { type SnakepitEvent, StartError } from "@snakepit/core";
import type { RunId } from "@snakepit/core/infrastructure";

const wallMs = 1_700_000_000_000;
const runId = "abcdefg" as RunId;
const ofRun = "gfedcba" as RunId;
const protection = { wallMs, protection: "watchdog" };
const stray = { wallMs, runId, pid: 12, incarnation: "abcdefg-0" };
const worker = { wallMs, pool: "rare", workerId: "rare-0", incarnation: "a-1" };
const preload = { wallMs, pool: "rare", pid: 14 };

function job(number: number): readonly SnakepitEvent[] {
	const about = { wallMs, jobId: `${runId}-${number}`, program: "ffmpeg" };
	const isFine = number === 1;
	return [
		{ type: "job.accepted", ...about, waiting: 0 },
		{ type: "job.started", ...about, pid: 6, source: "node", waitedMs: 1 },
		{
			...{ type: "job.settled", ...about, ranMs: 5, spared: [] },
			outcome: isFine ? "succeeded" : "timed_out",
			code: isFine ? undefined : "JOB_TIMEOUT",
			exit: isFine
				? { kind: "code", code: 0 }
				: { kind: "signal", signal: "SIGTERM" },
			killer: isFine ? "none" : "stop_ladder",
			tail: ["a last line"],
		},
	];
}

/** Events that a pool in memory does not report by itself: those with spans or metrics, and one of each other group. */
export const RARE_EVENTS: readonly SnakepitEvent[] = [
	{ type: "run.started", wallMs, runId, dataDir: "/data" },
	{ type: "cleanup.started", wallMs, runId },
	{
		...{ type: "run.found_dead", wallMs, ofRun, program: "shop.js" },
		end: {
			...{ how: "crashed", wallMs, code: 1, at: undefined, of: "program" },
			...{ detail: undefined, signal: { name: "SIGTERM", wallMs } },
			error: {
				...{ name: "TypeError", code: undefined, message: "no", wallMs },
				...{ at: undefined, origin: "uncaughtException", outcome: "ends" },
			},
		},
	},
	{
		...{ type: "orphan.reaped", wallMs, ofRun, pid: 7, program: "worker.js" },
		...{ how: "killed", foundBy: "ledger" },
	},
	{ type: "orphan.spared", wallMs, ofRun, pid: 8, reason: "own_ancestor" },
	{
		...{ type: "cleanup.finished", wallMs: wallMs + 20, runId, durationMs: 20 },
		...{ deadRuns: 1, found: 2, killed: 1, spared: 1 },
	},
	...[1, 2].flatMap(job),
	{
		...{ type: "protection.host_death_detected", ...protection, ofRun },
		...{ pid: 70, detectionMs: 4 },
	},
	{
		...{ type: "protection.process_killed", ...protection, ofRun, pid: 9 },
		...{ startTime: "5000", incarnation: "gfedcba-1" },
		...{ foundBy: "ledger", signal: "SIGKILL" },
	},
	{
		...{ type: "protection.run_settled", ...protection, ofRun },
		...{ killed: 1, durationMs: 40 },
	},
	{ type: "protection.unavailable", ...protection, reason: "no Node" },
	{
		...{ type: "protection.ended", ...protection, pid: 11, how: "lost" },
		exit: { kind: "signal", signal: "SIGKILL" },
	},
	{
		...{ type: "protection.ended", ...protection, pid: 10, how: "released" },
		exit: { kind: "code", code: 0 },
	},
	{
		...{ type: "pool.start_failed", wallMs, pool: "rare", adapter: "scripted" },
		error: new StartError({
			...{ code: "CONNECT_FAILED", ran: "no", message: "nobody answers" },
		}),
	},
	{ type: "audit.stray_found", ...stray, of: "ended", name: "python" },
	{ type: "audit.stray_killed", ...stray, how: "killed" },
	{ type: "control.unavailable", wallMs, runId, reason: "EMFILE" },
	{
		...{ type: "registry.degraded", wallMs, code: "REGISTRY_FULL" },
		...{ message: "the disk is full", unwritten: 2 },
	},
	{ type: "registry.recovered", wallMs, written: 2 },
	{
		...{ type: "registry.file_lost", wallMs, runId, file: "ledger" },
		...{ path: "/ledger/runs/abcdefg.db", how: "replaced" },
	},
	{
		...{ type: "preload.ended", ...preload, how: "lost" },
		exit: { kind: "signal", signal: "SIGKILL" },
	},
	{
		...{ type: "host.signal_received", wallMs, signal: "SIGTERM" },
		...{ forced: false, answer: "wait", graceMs: 35_000 },
	},
	{
		...{ type: "worker.exited", ...worker, pid: 15, reason: "exited" },
		...{ exit: { kind: "code", code: 1 }, killer: "none" },
		...{ callsLost: 1, lifetimeMs: 5, tail: ["a last line"] },
	},
	{
		...{ type: "host.stood_still", wallMs, kind: "stopped" },
		...{ sinceWallMs: wallMs - 5_000, durationMs: 5_000, processorMs: 3 },
	},
	{
		...{ type: "worker.output", ...worker, stream: "stdout", cut: false },
		...{ line: "printed in a call", callId: "c-1" },
	},
	{
		...{ type: "telemetry.misconfigured", wallMs },
		...{ reason: "sdk_registered_late", message: "No metrics.", remedy: "" },
	},
	{ type: "run.ended", wallMs, runId, clean: false },
];
