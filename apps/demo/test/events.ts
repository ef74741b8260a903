import type { SnakepitEvent } from "@snakepit/core";

type Without<Event, Keys extends PropertyKey> = Event extends unknown
	? Omit<Event, Keys>
	: never;

/** Events of one pool at one moment, with what matters to the test. */
export function event(
	given: Without<SnakepitEvent, "wallMs" | "pool">,
	wallMs = 0,
): SnakepitEvent {
	return { wallMs, pool: "digits", ...given } as SnakepitEvent;
}

export const starting = (
	workerId: string,
	incarnation: string,
): SnakepitEvent =>
	event({
		type: "worker.starting",
		workerId,
		incarnation,
		attempt: 1,
		replaces: undefined,
	});

export const spawned = (
	workerId: string,
	incarnation: string,
	pid: number,
): SnakepitEvent =>
	event({ type: "worker.spawned", workerId, incarnation, pid, source: "node" });

export const ready = (
	workerId: string,
	incarnation: string,
	pid: number,
): SnakepitEvent =>
	event({
		type: "worker.ready",
		workerId,
		incarnation,
		pid,
		durationMs: 2_100,
		phases: { spawnMs: 1, launchMs: 2_000, connectMs: 99 },
		ready: undefined,
	});

export const released = (
	workerId: string,
	incarnation: string,
): SnakepitEvent =>
	event({
		type: "call.released",
		workerId,
		incarnation,
		callId: "c1",
		command: "read",
		attempt: 1,
		ranMs: 1,
	});

export const killed = (
	workerId: string,
	incarnation: string,
	pid: number,
): SnakepitEvent =>
	event({
		type: "worker.exited",
		workerId,
		incarnation,
		pid,
		exit: { kind: "signal", signal: "SIGKILL" },
		reason: "exited",
		killer: "unknown",
		callsLost: 1,
		lifetimeMs: 1_000,
		tail: [],
	});
