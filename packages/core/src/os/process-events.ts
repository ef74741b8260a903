import { constants } from "node:os";
import { isMainThread } from "node:worker_threads";

/** What the system and the runtime tell this program about its own end. */
export interface ProcessEvents {
	/** Signals only arrive in the main thread. */
	readonly mainThread: boolean;
	/**
	 * Listens for a signal before everybody who listens already, so that those who
	 * listen once are still counted; returns the function that stops it.
	 */
	onSignal(signal: NodeJS.Signals, listener: () => void): () => void;
	/** How many listen for a signal, of whomever they are. */
	signalListeners(signal: NodeJS.Signals): number;
	/** Listens for the end: only synchronous work is done after it. */
	onExit(listener: () => void): () => void;
	/** Listens for the moment when nothing is left to do; work begun there goes on. */
	onBeforeExit(listener: () => void): () => void;
	/** Sends a signal to this very process. */
	raise(signal: NodeJS.Signals): void;
}

export const processEvents: ProcessEvents = {
	mainThread: isMainThread,
	onSignal(signal, listener) {
		process.prependListener(signal, listener);
		return () => {
			process.off(signal, listener);
		};
	},
	signalListeners: (signal) => process.listenerCount(signal),
	onExit: (listener) => listen("exit", listener),
	onBeforeExit: (listener) => listen("beforeExit", listener),
	raise(signal): void {
		// The first process of a container is not ended by a signal that it does not handle. Source: kill(2), pid_namespaces(7).
		if (process.pid === 1) process.exit(128 + constants.signals[signal]);
		process.kill(process.pid, signal);
	},
};

function listen(event: string, listener: () => void): () => void {
	process.on(event, listener);
	return () => {
		process.off(event, listener);
	};
}
