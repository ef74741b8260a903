/** The names of the files in a run's private directory: the socket, and what a client needs beside it. */
export const SOCKET_NAME = "control.sock";
export const RECORD_NAME = "control.json";

/** What is written beside the socket, for this user alone. */
export interface ControlRecord {
	readonly runId: string;
	readonly pid: number;
	readonly program: string;
	/** Its real path. */
	readonly dataDir: string;
	/** Milliseconds since the Unix epoch. */
	readonly startedAtMs: number;
	readonly token: string;
}
