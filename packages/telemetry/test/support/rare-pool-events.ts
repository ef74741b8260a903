import { type SnakepitEvent, StartError } from "@snakepit/core";

/** When they happened. */
export const wallMs = 1_700_000_000_000;
/** What events of a worker have. */
export const worker = {
	wallMs: 1_700_000_000_000,
	pool: "rare",
	workerId: "rare-0",
	incarnation: "abcdefg-1",
};
/** Why a start failed. */
export const error: StartError<"CONNECT_FAILED"> = new StartError({
	code: "CONNECT_FAILED",
	ran: "no",
	message: "nobody answers",
});

/** One of each event of pools and their companions that is rare. */
export const RARE_POOL_EVENTS: readonly SnakepitEvent[] = [
	{ type: "heartbeat.busy", ...worker, silentMs: 10_000, cpuAdvancedMs: 9_000 },
	{ type: "heartbeat.suspended", ...worker, reason: "host_lagged" },
	{
		type: "pool.restart_budget_spent",
		wallMs,
		pool: "rare",
		restarts: 10,
		windowMs: 60_000,
	},
	{
		type: "pool.adapter_noted",
		wallMs,
		pool: "rare",
		adapter: "scripted",
		note: "Python 3.13",
	},
	{
		type: "preload.started",
		wallMs,
		pool: "rare",
		pid: 14,
		durationMs: 80,
		restarts: 1,
	},
	{
		type: "preload.ended",
		wallMs,
		pool: "rare",
		pid: 14,
		exit: { kind: "signal", signal: "SIGKILL" },
		how: "lost",
	},
	{
		type: "preload.unavailable",
		wallMs,
		pool: "rare",
		code: "PRELOAD_LOST",
		reason: "it was lost five times",
	},
	{
		type: "companion.started",
		wallMs,
		pool: "rare",
		pid: 15,
		durationMs: 80,
		restarts: 1,
	},
	{
		type: "companion.ended",
		wallMs,
		pool: "rare",
		pid: 15,
		exit: { kind: "signal", signal: "SIGKILL" },
		how: "lost",
	},
	{
		type: "companion.unavailable",
		wallMs,
		pool: "rare",
		code: "SPAWN_FAILED",
		reason: "there is no program",
		failures: 1,
	},
	{
		type: "pool.start_failed",
		wallMs,
		pool: "rare",
		adapter: "scripted",
		error,
	},
];
