/** The names of the files in a run's private directory: the socket, and the file that a client needs to use it. */
export const SOCKET_NAME = "control.sock";
export const RECORD_NAME = "control.json";

/** The content of the file beside the socket, which only this user can read. */
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
