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

/**
 * The life of one worker process as a table: every state, every trigger, every cell filled.
 */
export type WorkerState =
	| "starting"
	| "ready"
	| "draining"
	| "stopping"
	| "exited";

export type WorkerTrigger =
	/** The first call can be taken. */
	| "became_ready"
	/** It could not be made ready. */
	| "start_failed"
	/** It shall take no new calls: recycling or an orderly close. */
	| "retire"
	/** Its last call has ended. */
	| "drained"
	/** It must go now: hung, stuck call, forced close. */
	| "condemn"
	/** No call can be answered any more. */
	| "conversation_over"
	/** The kernel reported its end. */
	| "process_exited";

/** What follows a step; carried out outside the table. */
export type WorkerEffect =
	| "offer_capacity"
	| "withdraw_capacity"
	| "begin_stop"
	| "force_stop"
	| "release";

export type WorkerStep =
	| {
			readonly kind: "move";
			readonly to: WorkerState;
			readonly effects: readonly WorkerEffect[];
	  }
	/** Late but harmless. */
	| { readonly kind: "stay" }
	/** A defect of ours. */
	| { readonly kind: "impossible" };

const stay: WorkerStep = { kind: "stay" };
const impossible: WorkerStep = { kind: "impossible" };
const move = (to: WorkerState, ...effects: WorkerEffect[]): WorkerStep => ({
	kind: "move",
	to,
	effects,
});

/** Rows are states, columns triggers. docs/reference/states.md is made from it. */
export const WORKER_TABLE: Readonly<
	Record<WorkerState, Readonly<Record<WorkerTrigger, WorkerStep>>>
> = {
	starting: {
		became_ready: move("ready", "offer_capacity"),
		start_failed: move("stopping", "force_stop"),
		retire: move("stopping", "force_stop"),
		drained: impossible,
		condemn: move("stopping", "force_stop"),
		conversation_over: move("stopping", "force_stop"),
		process_exited: move("exited", "release"),
	},
	ready: {
		became_ready: impossible,
		start_failed: impossible,
		retire: move("draining", "withdraw_capacity"),
		drained: stay,
		condemn: move("stopping", "withdraw_capacity", "force_stop"),
		conversation_over: move("stopping", "withdraw_capacity", "force_stop"),
		process_exited: move("exited", "withdraw_capacity", "release"),
	},
	draining: {
		became_ready: impossible,
		start_failed: impossible,
		retire: stay,
		drained: move("stopping", "begin_stop"),
		condemn: move("stopping", "force_stop"),
		conversation_over: move("stopping", "force_stop"),
		process_exited: move("exited", "release"),
	},
	stopping: {
		became_ready: stay, // The ready line and the order to stop crossed.
		start_failed: stay,
		retire: stay,
		drained: stay,
		condemn: move("stopping", "force_stop"),
		conversation_over: stay, // A worker that leaves ends its conversation first: no reason to hurry.
		process_exited: move("exited", "release"),
	},
	exited: {
		became_ready: stay, // The ready line was read after the exit was seen.
		start_failed: stay,
		retire: stay,
		drained: stay,
		condemn: stay,
		conversation_over: stay,
		process_exited: impossible,
	},
};

/** Looks one cell up. */
export function stepWorker(
	state: WorkerState,
	trigger: WorkerTrigger,
): WorkerStep {
	return WORKER_TABLE[state][trigger];
}

/** Whether processes are asked to end, or killed. */
export type CloseManner = "gentle" | "forced";

/**
 * What comes after everything of a program was closed: the program dies of a
 * signal, or it goes on. A program that dies does not see calls and jobs fail on the
 * way: an uncaught error would end it first, with the wrong exit code.
 */
export type Afterwards = "dies" | "goes_on";
