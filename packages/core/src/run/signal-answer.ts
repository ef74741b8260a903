/** What a run wants for a signal that the program listens to itself. */
export interface SignalWish {
	/** `"end"`: after the grace the pools close and the program ends by the signal; `"ignore"`: the program decides alone. */
	readonly onSignal: "end" | "ignore";
	/** How long the program has to end by itself. */
	readonly graceMs: number;
}

/** What follows a signal. */
export interface SignalAnswer {
	/**
	 * `"close"`: the pools close in order, then the program ends by the signal; `"kill"`: the same with pools that are
	 * killed at once; `"wait"`: the pools stay open, and the program has a grace; `"ignore"`: nothing.
	 */
	readonly kind: "close" | "kill" | "wait" | "ignore";
	/** With `"wait"`; else 0. */
	readonly graceMs: number;
}

export interface ArrivedSignal {
	readonly signal: NodeJS.Signals;
	/** Whether an earlier signal is still being answered. */
	readonly forced: boolean;
	/** How many listeners of the program might end it. */
	readonly otherListeners: number;
	readonly wishes: readonly SignalWish[];
}

/**
 * Decides what follows a signal. A program with a listener of its own has a
 * grace; the longest one that a run asks for holds, and one run with `"ignore"`
 * is enough to leave the program alone.
 */
export function answerSignal({
	signal,
	forced,
	otherListeners,
	wishes,
}: ArrivedSignal): SignalAnswer {
	if (otherListeners === 0)
		return { kind: forced ? "kill" : "close", graceMs: 0 };
	// By custom a program listens to SIGHUP to read its configuration again.
	if (signal === "SIGHUP" || isIgnored(wishes))
		return { kind: "ignore", graceMs: 0 };
	if (forced) return { kind: "kill", graceMs: 0 };
	const graces = wishes.map(({ graceMs }) => graceMs);
	return { kind: "wait", graceMs: Math.max(0, ...graces) };
}

/** Whether one of the runs leaves signals to the program. */
export function isIgnored(wishes: readonly SignalWish[]): boolean {
	return wishes.some(({ onSignal }) => onSignal === "ignore");
}
