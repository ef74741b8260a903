import type { SnakepitEvent } from "@snakepit/core";
import type { ProcessExit } from "@snakepit/core/infrastructure";
import { count, counted, duration } from "./figures.ts";
import { isUnwanted } from "./unwanted-end.ts";

/** Says what happened in one line, where a person wants to know; `undefined` elsewhere. */
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
			// The whole of it is in the error with which the demo ends.
			return `${event.workerId} did not start: ${event.error.message.split("\n")[0]}`;
		case "worker.condemned":
			// A broken conversation is most often the first news of a death.
			if (event.reason !== "hung" && event.reason !== "stuck") return undefined;
			return `${event.workerId} has to go: ${event.message}`;
		case "worker.exited":
			if (!isUnwanted(event.reason)) return undefined;
			return `${event.workerId} is gone, pid ${event.pid ?? "unknown"}: ${howItEnded(event.exit)}, ${counted(event.callsLost, "call")} lost`;
		case "call.retried":
			return `call ${event.callId} is made again: ${event.because}`;
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

function howItEnded(exit: ProcessExit | undefined): string {
	if (exit === undefined) return "nobody knows how";
	return exit.kind === "signal" ? exit.signal : `exit code ${exit.code}`;
}
