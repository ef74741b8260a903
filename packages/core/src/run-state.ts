import { SnakepitError } from "./errors.ts";

/** The life of a run, in order; a reaper may take over a dead one. */
export type RunState =
	| "initializing"
	| "cleaning_stale"
	| "running"
	| "shutting_down"
	| "terminated";

/** Every allowed step. What is not listed is a defect of ours. */
export const RUN_TRANSITIONS: Readonly<Record<RunState, readonly RunState[]>> =
	{
		initializing: ["cleaning_stale", "shutting_down", "terminated"],
		cleaning_stale: ["running", "shutting_down", "terminated"],
		running: ["shutting_down", "terminated"],
		shutting_down: ["terminated"],
		terminated: [],
	};

/**
 * Checks one step of a run's life and returns the new state.
 *
 * @throws SnakepitError `IMPOSSIBLE_TRANSITION` when the table has no such step.
 */
export function nextRunState(from: RunState, to: RunState): RunState {
	if (RUN_TRANSITIONS[from].includes(to)) return to;
	throw new SnakepitError({
		code: "IMPOSSIBLE_TRANSITION",
		ran: "no",
		message: `A run cannot go from ${from} to ${to}. This is a defect in Snakepit: please report it.`,
	});
}
