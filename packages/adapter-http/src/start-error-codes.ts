/** Codes that this adapter adds to `StartError`. docs/reference/errors.md is extracted from here. */
export interface HttpStartErrorCodes {
	/**
	 * Another program listens on the port that the worker was given or that it printed.
	 * @remedy The pool starts the worker again, with `listen: "tcp"` on another port. `listen: "unix"` has no such race.
	 */
	readonly LISTENER_NOT_PROVEN: "no";
	/**
	 * The line matched by `listen.fromLine` does not name a port of this machine.
	 * @remedy The message quotes the line. The group `url` must match an address such as `http://127.0.0.1:8000`, or
	 * `port` a number.
	 */
	readonly ADDRESS_NOT_FOUND: "no";
}

export type HttpStartErrorCode = keyof HttpStartErrorCodes;
