/** What can be switched off as one: see `TelemetryOptions`. */
export type Group =
	/** Calls, queue, sessions. */
	| "calls"
	/** Pools, workers, clean-up, ledger. */
	| "process"
	| "heartbeat"
	/** What protections do when a host dies. */
	| "watchdog"
	/** Telemetry about itself. */
	| "telemetry";
