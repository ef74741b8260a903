/** Two clocks and a timer; nothing else in core asks for the time. */
export interface Clock {
	/** Milliseconds on a monotonic clock. Durations and deadlines are measured here. */
	now(): number;
	/** Milliseconds since the Unix epoch. Only for records that people read. */
	wall(): number;
	/**
	 * Calls `action` once after `ms` milliseconds, as one transition of the outbox. Timers never hold the program
	 * open: `ProcessHost.keepAlive` does that.
	 */
	after(ms: number, action: () => void): Timer;
	/** Calls `action` in the next turn of the event loop, after what has arrived meanwhile was read; as one transition. */
	soon(action: () => void): void;
}

export interface Timer {
	cancel(): void;
}

export interface Random {
	/** A number from 0 (included) to 1 (excluded). */
	fraction(): number;
	/** A secret of 256 bits as 64 hexadecimal digits. */
	token(): string;
}
