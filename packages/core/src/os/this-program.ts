import nodeModule from "node:module";
import { constants, uptime } from "node:os";
import { basename, isAbsolute } from "node:path";
import type { Writable } from "node:stream";
import { setInterval } from "node:timers";
import { isMainThread } from "node:worker_threads";
import type { HostProgram } from "../contract/process-registry.ts";
import { terminalText } from "../contract/text.ts";
import { VERSION } from "./gen/version.ts";

// Not `createRequire` by name: webpack would resolve what it is given when it builds.

const MOST_ARGUMENTS = 64;
const MOST_CHARACTERS = 1_000;

/**
 * What the ledger records of this very program.
 *
 * @param content whether that may contain what the program was called with.
 */
export function thisProgram(content: "recorded" | "left_out"): HostProgram {
	const [executable = "", main = executable] = process.argv;
	const shown = process.argv.slice(0, MOST_ARGUMENTS);
	return {
		name: cut(basename(main)),
		cwd: workingDirectory(),
		argv: content === "recorded" ? shown.map(cut) : undefined,
		node: process.versions.node,
		snakepit: VERSION,
	};
}

/** Empty where it was removed. */
function workingDirectory(): string {
	try {
		return cut(process.cwd());
	} catch {
		return "";
	}
}

function cut(text: string): string {
	return text.slice(0, MOST_CHARACTERS);
}

/** What of this process tells how its program is executed; given in tests. */
export interface Execution {
	/** Whether a file that Node made with `--build-sea` or a blob is running. */
	readonly isSea: boolean;
	/** Whether `bun build --compile`, `deno compile` or pkg has made the executable. */
	readonly isCompiled: boolean;
	/** What executes JavaScript here, if it is not Node: Bun, Deno and Electron have Node's version, too. */
	readonly runtime: "Node" | "Bun" | "Deno" | "Electron" | "NW.js";
	readonly execPath: string;
	/** The file of the program; for an executable that contains it, how that was started. */
	readonly main: string | undefined;
}

/** How this program is executed. */
export function thisExecution(): Execution {
	const { versions, execPath, argv } = process;
	const { Bun, Deno } = globalThis as Globals;
	const isPacked = "pkg" in process;
	return {
		isSea: isSea(),
		isCompiled:
			Bun?.isStandaloneExecutable === true ||
			Deno?.build?.standalone === true ||
			isPacked,
		runtime:
			versions["bun"] !== undefined
				? "Bun"
				: versions["deno"] !== undefined
					? "Deno"
					: versions["electron"] !== undefined
						? "Electron"
						: versions["nw"] !== undefined
							? "NW.js"
							: "Node",
		execPath,
		main: argv[1],
	};
}

interface Globals {
	readonly Bun?: { readonly isStandaloneExecutable?: boolean };
	readonly Deno?: { readonly build?: { readonly standalone?: boolean } };
}

function isSea(): boolean {
	try {
		// Loaded at use, and from any path: not every runtime has it, and a bundle may not know its own path.
		return nodeModule.createRequire("/")("node:sea").isSea();
	} catch {
		return false;
	}
}

/**
 * The executable of this program if that contains the program itself, as a single executable application does: whatever
 * starts it starts the program, with any arguments.
 */
export function ownExecutable(
	{ isSea, isCompiled, execPath }: Execution = thisExecution(),
): string | undefined {
	return isSea || isCompiled ? execPath : undefined;
}

/**
 * The files and URLs of modules from which packages beside this program are looked for, in this order.
 *
 * Beside an executable that contains the program only from there: how it was started says nothing about where it is
 * (`app`, found in `PATH`), and from the working directory another user's package could be loaded.
 *
 * @param module the URL of the module that asks; a bundle that is CommonJS has none.
 */
export function packageOrigins(
	module: string | undefined,
	execution: Execution = thisExecution(),
): readonly string[] {
	const own = ownExecutable(execution);
	const { main } = execution;
	if (own !== undefined) return [own];
	return [module, main].filter(
		(origin) =>
			origin !== undefined &&
			(origin.startsWith("file:") || isAbsolute(origin)),
	) as string[];
}

/** Holds the program open while at least one holder has not released it. */
export class KeepAlive {
	#holders = 0;
	/** Made once: every call into an idle pool begins a hold. */
	readonly #timer = setInterval(() => {}, 2 ** 30).unref();

	/** Returns the function that releases the hold; calling it again does nothing. */
	readonly hold = (): (() => void) => {
		if (++this.#holders === 1) this.#timer.ref();
		let holding = true;
		return () => {
			if (!holding) return;
			holding = false;
			if (--this.#holders === 0) this.#timer.unref();
		};
	};
}

/** What may wait for a reader of standard error. */
const MAX_WAITING_BYTES = 1_048_576;

/**
 * Shows lines to people, and nothing that their terminal would carry out. When they are not read as fast as they come, some are
 * dropped and counted instead of filling the memory.
 */
export class Echo {
	readonly #out: Writable;
	#dropped = 0;

	constructor(out: Writable) {
		this.#out = out;
	}

	line(text: string): void {
		if (this.#out.writableLength > MAX_WAITING_BYTES) {
			this.#dropped++;
			return;
		}
		if (this.#dropped > 0) {
			this.#write(
				`[snakepit] ${this.#dropped} lines are missing here: they arrived faster than this output is read\n`,
			);
			this.#dropped = 0;
		}
		this.#write(`${terminalText(text)}\n`);
	}

	/** If the reader is gone, the program continues, as it does after `console.error`. */
	#write(text: string): void {
		this.#out.write(text, (error) => {
			const isUnheard = this.#out.listenerCount("error") === 0;
			if (error && isUnheard) this.#out.once("error", () => {});
		});
	}
}

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
	/** The code with which this process would end now. */
	exitCode(): number;
	/** Writes a warning of this process, which appears on standard error by default. */
	warn(message: string): void;
}

/** What this process shows of its own exit. */
export interface SeenExit {
	/** Of `process.exit()`, a listener that is called later may still change it. */
	readonly code: number;
	/** Of the call of `process.exit()`, from its caller on; `undefined` where nothing called it. */
	readonly stack: string | undefined;
	/** What ended the process, where that is a signal that cannot end it by itself. */
	readonly signal: NodeJS.Signals | undefined;
}

/** What this process shows of the ways in which it ends. To listen to it changes nothing. */
export interface ProgramEvents {
	/** Signals only arrive in the main thread, and what ends is only this thread elsewhere. */
	readonly mainThread: boolean;
	/** An error that nothing has caught; `outcome`: whether the program listens to that itself, and decides what follows. */
	onUncaught(
		listener: (
			thrown: unknown,
			origin: NodeJS.UncaughtExceptionOrigin,
			outcome: "ends" | "goes_on",
		) => void,
	): void;
	/** The exit, perhaps twice: what is seen last counts. Only synchronous work is done after it. */
	onExit(listener: (exit: SeenExit) => void): void;
}

export const programEvents: ProgramEvents = {
	mainThread: isMainThread,
	onUncaught(listener) {
		process.on("uncaughtExceptionMonitor", (thrown: unknown, origin) => {
			// Not every runtime has the second one, and an error here would be the program's.
			const { hasUncaughtExceptionCaptureCallback: captures } =
				process as Partial<NodeJS.Process>;
			const goesOn =
				process.listenerCount("uncaughtException") > 0 || captures?.() === true;
			listener(thrown, origin, goesOn ? "goes_on" : "ends");
		});
	},
	onExit(listener) {
		const exited = (code: number): void =>
			listener({
				code: exitCode(code),
				stack: stackOfExit(),
				signal: endedBy,
			});
		process.on("exit", exited);
		// Others may change the code at the exit: once nothing is left to do, they are called before this.
		const last = (code: number): void => exited(code);
		process.on("beforeExit", () => {
			process.off("exit", last);
			process.on("exit", last);
		});
	},
};

/** Node takes a number, or a text that is one. */
function exitCode(otherwise: number): number {
	const code = Number(process.exitCode ?? otherwise);
	return Number.isInteger(code) ? code : otherwise;
}

/** Of the deepest call of `process.exit()` that can be expected. */
const STACK_FRAMES = 100;
const EXIT_FRAME = /^\s+at (?:process\.)?(?:exit|workerProcessExit) \(node:/;

function stackOfExit(): string | undefined {
	try {
		const { stackTraceLimit } = Error;
		Error.stackTraceLimit = STACK_FRAMES;
		const here: { readonly stack?: unknown } = {};
		Error.captureStackTrace(here);
		const { stack } = here;
		Error.stackTraceLimit = stackTraceLimit;
		// A program may have a say about what stacks are (Error.prepareStackTrace).
		if (typeof stack !== "string") return undefined;
		const lines = stack.split("\n");
		const call = lines.findIndex((line) => EXIT_FRAME.test(line));
		return call < 0 ? undefined : lines.slice(call + 1).join("\n");
	} catch {
		return undefined; // Nor may this throw in the last turn of a program.
	}
}

/** The signal by which this process ends itself. */
let endedBy: NodeJS.Signals | undefined;

/** What tells whether and why this program stood still. */
export interface ProgramTimes {
	/** Processor time of all its threads, in milliseconds. */
	processorMs(): number;
	/** How long ago the machine was started, in milliseconds; the time in which it was suspended counts. */
	machineMs(): number;
	/** Listens for SIGCONT, which a program gets that was stopped; returns the function that ends this. In the main thread only. */
	onContinued(listener: () => void): () => void;
}

export const programTimes: ProgramTimes = {
	processorMs() {
		const { user, system } = process.cpuUsage();
		return (user + system) / 1_000;
	},
	machineMs() {
		try {
			return uptime() * 1_000;
		} catch {
			return Number.NaN; // Then it is not seen that the machine was suspended.
		}
	},
	onContinued: (listener) => listen("SIGCONT", listener),
};

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
	exitCode: () => exitCode(0),
	endBy(signal): void {
		endedBy = signal;
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
