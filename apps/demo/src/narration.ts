import type { EventOf, SnakepitEvent } from "@snakepit/core";
import { isUnwanted } from "./board.ts";
import { count, counted, duration } from "./figures.ts";

/** Describes an event in one line, or returns `undefined` if it is of no interest to a person. */
export function narrate(event: SnakepitEvent): string | undefined {
	switch (event.type) {
		case "pool.adapter_noted":
			return event.note;
		case "cleanup.finished":
			return event.deadRuns === 0
				? undefined
				: `cleaned up after ${counted(event.deadRuns, "dead run")}: ${counted(event.found, "process", "processes")} found, ${count(event.killed)} killed`;
		case "worker.ready":
			return `${event.workerId} is ready after ${duration(event.durationMs)}, pid ${event.pid}`;
		case "worker.start_failed":
			// A worker that was not needed any more.
			if ("code" in event.error && event.error.code === "START_WITHDRAWN")
				return undefined;
			// The error with which the demo ends has all of it.
			return `${event.workerId} did not start: ${event.error.message.split("\n")[0]}`;
		case "worker.condemned":
			// A broken connection usually comes just before the exit.
			return event.reason === "hung" || event.reason === "stuck"
				? `${event.workerId} is being replaced: ${event.message}`
				: undefined;
		case "worker.exited":
			return isUnwanted(event.reason)
				? `${event.workerId} is gone, pid ${event.pid ?? "unknown"}: ${describeExit(event.exit)}, ${counted(event.callsLost, "call")} lost`
				: undefined;
		case "call.retried":
			return `call ${event.callId} is retried: ${event.because}`;
		case "worker.output":
			return `${event.workerId} | ${event.line}`;
		case "worker.logged":
			return `${event.workerId} | ${event.record.level} ${event.record.logger}: ${event.record.message}`;
		case "registry.degraded":
			return event.message;
		case "registry.file_lost":
			return `the ${event.file} of this run was ${event.how}: ${event.path}`;
		case "registry.relocated":
			return `the ledger is in ${event.path}: ${event.reason}`;
		case "registry.set_aside":
			return `${event.path} was set aside: ${event.reason}`;
		case "pool.restart_budget_spent":
			return `${counted(event.restarts, "restart")} within ${duration(event.windowMs)}: no more for now`;
		case "host.signal_received":
			return `${event.signal}: ending the workers`;
		default:
			return undefined;
	}
}

function describeExit(exit: EventOf<"worker.exited">["exit"]): string {
	if (exit === undefined) return "exit unknown";
	return exit.kind === "signal" ? exit.signal : `exit code ${exit.code}`;
}
