import { constants } from "node:os";
import { isMainThread } from "node:worker_threads";

/** What the system and the runtime report to this program about its own end. */
export interface ProcessEvents {
	/** Signals only arrive in the main thread. */
	readonly mainThread: boolean;
	/**
	 * Listens for a signal before everybody who listens already, so that those who
	 * listen once are still counted; returns the function that stops it.
	 */
	onSignal(signal: NodeJS.Signals, listener: () => void): () => void;
	/**
	 * How many listeners for a signal there are beside the one of `onSignal`, without
	 * those of the library signal-exit: where they are alone they send the signal again.
	 */
	otherListeners(signal: NodeJS.Signals): number;
	/** Listens for the end: only synchronous work is done after it. */
	onExit(listener: () => void): () => void;
	/** Listens for the moment when nothing is left to do; work begun there goes on. */
	onBeforeExit(listener: () => void): () => void;
	/** Ends this very process by a signal, whatever listens to it. */
	endBy(signal: NodeJS.Signals): void;
	/** Writes a warning of this process, which appears on standard error by default. */
	warn(message: string): void;
}

export const processEvents: ProcessEvents = {
	mainThread: isMainThread,
	onSignal(signal, listener) {
		process.prependListener(signal, listener);
		return () => {
			process.off(signal, listener);
		};
	},
	otherListeners: (signal) =>
		Math.max(0, process.listenerCount(signal) - 1 - deferringListeners()),
	onExit: (listener) => listen("exit", listener),
	onBeforeExit: (listener) => listen("beforeExit", listener),
	endBy(signal): void {
		// The first process of a container is not ended by a signal that it does not handle. Source: kill(2), pid_namespaces(7).
		if (process.pid === 1) process.exit(128 + constants.signals[signal]);
		// Those of signal-exit alone run their users' exit hooks and send the signal again.
		if (process.listenerCount(signal) > deferringListeners())
			process.removeAllListeners(signal);
		process.kill(process.pid, signal);
	},
	warn: (message) =>
		process.emitWarning(message, {
			type: "SnakepitWarning",
			code: "SNAKEPIT_SIGNAL_GRACE",
		}),
};

/** What signal-exit keeps for all its copies: how many of them listen. */
interface SignalExitEmitter {
	readonly count?: unknown;
}

/** How many listeners signal-exit has for each signal. Source: signal-exit 3 and 4, `load()`. */
function deferringListeners(): number {
	const { __signal_exit_emitter__: third } = process as {
		readonly __signal_exit_emitter__?: SignalExitEmitter;
	};
	const fourth = (globalThis as { [FOURTH]?: SignalExitEmitter })[FOURTH];
	return countOf(third) + countOf(fourth);
}

const FOURTH = Symbol.for("signal-exit emitter");

function countOf(emitter: SignalExitEmitter | undefined): number {
	return typeof emitter?.count === "number" ? emitter.count : 0;
}

function listen(event: string, listener: () => void): () => void {
	process.on(event, listener);
	return () => {
		process.off(event, listener);
	};
}
