import type { ResolvedTelemetryOptions } from "./options.ts";

/** Groups that can be switched off: see `TelemetryOptions`. */
export type Group =
	/** Calls, queue, sessions. */
	| "calls"
	/** Pools, workers, clean-up, ledger. */
	| "process"
	| "heartbeat"
	/** The actions of protections when a host dies. */
	| "watchdog"
	/** Telemetry about itself. */
	| "telemetry";

/** Whether a group is exported. */
export type Switches = (group: Group) => boolean;

export function switchesOf(options: ResolvedTelemetryOptions): Switches {
	const on: Readonly<Record<Group, boolean>> = {
		calls: true,
		process: options.processEvents,
		heartbeat: options.heartbeatEvents,
		watchdog: options.watchdogEvents,
		telemetry: true,
	};
	return (group) => options.enabled && on[group];
}
