import type { Duplex, Readable, Writable } from "node:stream";
import type { ProcessExit, RunId } from "./identity.ts";

// What an adapter sees of one worker.

/** A worker's position in the pool. After a worker, the next incarnation uses its slot. */
export interface WorkerSlot {
	/** The name of the pool. */
	readonly pool: string;
	/**
	 * From 0 to the pool's maximum size minus 1, for example to choose a GPU. A worker that is being replaced shares its
	 * index with its successor until it has left.
	 */
	readonly index: number;
	/** The pool's maximum size. */
	readonly slots: number;
	/** `pool-index`; the same for all incarnations. */
	readonly workerId: string;
	/** The name of this one process; it is never used again. */
	readonly incarnation: string;
	readonly runId: RunId;
	/**
	 * A private directory (0700) for this incarnation's sockets and scratch files. It exists when `launch` is called, which
	 * may write a configuration there, and is removed when the incarnation is gone.
	 */
	readonly directory: string;
	/** The same in shared memory, for large values; `undefined` if the system has none. */
	readonly sharedDirectory: string | undefined;
	/** How many calls may run concurrently. */
	readonly callsPerWorker: number;
	/** How long the start may take, in milliseconds. */
	readonly startTimeoutMs: number;
	/** The current companion of the pool, if its adapter has one. */
	readonly companion?: WorkerCompanion | undefined;
}

/** The worker's process, as its adapter sees it. */
export interface WorkerProcess {
	readonly slot: WorkerSlot;
	readonly pid: number;
	/** What the program sent in its ready line; `undefined` without a control channel. */
	readonly ready: unknown;
	/** The secret of this incarnation, known to the worker from its launch message. */
	readonly token: string;
	/** Only with `stdio: "adapter"`. */
	readonly stdin: Writable | undefined;
	/** Only with `stdio: "adapter"`. */
	readonly stdout: Readable | undefined;
	/**
	 * The host's end of a `"stream"` that `launch` requested. It is closed with the worker. If it ends while the process
	 * lives, call `broken` if that ends the connection.
	 *
	 * @throws TypeError when `launch` did not request this stream.
	 */
	descriptor(fd: number): Duplex;
	/**
	 * The address of a listener that `launch` requested, even if the program does not accept connections yet.
	 *
	 * @throws TypeError when `launch` did not request this listener.
	 */
	listener(fd: number): ListenerAddress;
	/**
	 * Resolves when the process is gone and you have read all its output: standard output with `stdio: "adapter"`, and the
	 * streams that you read. If another process holds one of them open, it resolves 1 s after the last byte, and at the
	 * latest 10 s after the process has ended. Never rejects.
	 */
	readonly exited: Promise<ProcessExit>;
	/**
	 * Waits for a line that the program prints, for example the address that a server listens on. Earlier lines of this
	 * start count, too. Standard output is available only without `stdio: "adapter"`.
	 *
	 * @returns the match. @throws Error when the output ends first; the signal's reason when it aborts.
	 */
	line(
		match: RegExp,
		from: "stdout" | "stderr",
		signal: AbortSignal,
	): Promise<RegExpExecArray>;
	/**
	 * Passes on a notification of the program's protocol, as the event `worker.notified`.
	 *
	 * @param notification its name in that protocol.
	 */
	notify(notification: string, data: unknown): void;
	/**
	 * Runs traffic of the adapter's own that is no call, such as a probe, so that telemetry does not take it for the
	 * program's work. The pool itself calls `ping` so, and `connect`, except with `stdio: "adapter"`. Absent without
	 * telemetry.
	 */
	readonly unobserved?: (<T>(run: () => T) => T) | undefined;
	/** Passes on one log record of the worker, as the event `worker.logged`. */
	log(record: WorkerLogRecord): void;
	/** Adds to the error of a start that takes too long. No effect once the worker is ready. */
	starting(report: StartReport): void;
	/**
	 * Reports to the pool that the connection broke, so the pool replaces the worker. Idempotent; no effect while the
	 * worker leaves.
	 */
	broken(error: Error): void;
}

/** What an adapter knows about a start that is not complete. */
export interface StartReport {
	/** What it waits for, as in `the answer to "initialize"`. The last one counts. */
	readonly awaits?: string | undefined;
	/** A line on standard output that does not belong to the protocol. The first one counts. */
	readonly stray?: string | undefined;
}

/** One record from the worker's own logging. */
export interface WorkerLogRecord {
	readonly level: "debug" | "info" | "warning" | "error" | "critical";
	readonly logger: string;
	readonly message: string;
	/** Milliseconds since the Unix epoch. */
	readonly wallMs: number;
	readonly callId?: string | undefined;
	readonly traceback?: string | undefined;
	/**
	 * Present if the worker itself shows the record: its code has a handler for it, or it was printed while the worker
	 * started.
	 */
	readonly handledBy?: "worker" | undefined;
	readonly traceId?: string | undefined;
	readonly spanId?: string | undefined;
}

/** The slot of a process of a pool that is not a worker. */
export type PoolProcessSlot = Pick<
	WorkerSlot,
	| "pool"
	| "slots"
	| "workerId"
	| "incarnation"
	| "runId"
	| "directory"
	| "callsPerWorker"
	| "startTimeoutMs"
>;

/** The slot of a companion; its `workerId` is `pool-companion`. */
export interface CompanionSlot extends PoolProcessSlot {
	/** Runs of other machines, which the cleanup left alone. A cluster may know them, see `Adapter.located`. */
	readonly runsElsewhere: readonly RunId[];
}

/** The companion that a worker was started with. */
export interface WorkerCompanion {
	/** The name of this one process; it is never used again. */
	readonly incarnation: string;
	/** Its private directory, for the sockets that its workers use. */
	readonly directory: string;
	readonly pid: number;
	/** What the program sent in its ready line; `undefined` without a control channel. */
	readonly ready: unknown;
}

/** The slot of a preloaded parent; its `workerId` is `pool-preload`. */
export interface PreloadSlot extends PoolProcessSlot {
	/** The socket where the parent accepts the connections that become its workers' descriptors. */
	readonly forkSocket: string;
	/** The only process that may connect there. */
	readonly hostPid: number;
}

/** What to execute. */
export interface LaunchSpec {
	/** Path, or name looked up in `PATH`. */
	readonly executable: string;
	/** None by default. */
	readonly args?: readonly string[] | undefined;
	/** Added to the inherited variables; `undefined` removes one. */
	readonly env?: Readonly<Record<string, string | undefined>> | undefined;
	/**
	 * Which variables of the host's environment the program inherits. `"all"`: every one. `"minimal"`: `PATH`, `HOME`, the
	 * locale, temporary directories, certificates and proxies, without secrets (a proxy whose URL has a password is left
	 * out). An array: these names in addition to the minimal ones.
	 * @default "all"
	 */
	readonly inheritEnv?: "all" | "minimal" | readonly string[] | undefined;
	readonly cwd?: string | undefined;
	/**
	 * `"environment"`: with telemetry, the program gets the W3C context in which it is started as `TRACEPARENT` and
	 * `TRACESTATE`, a job also `BAGGAGE`, unless `env` has them. For programs that get no context with each call.
	 */
	readonly traceContext?: "environment" | undefined;
	/**
	 * The payload of the launch message, as JSON, for a program that uses the control channel on descriptor 3
	 * (docs/bridge-protocol.md). Absent for programs that do not know Snakepit.
	 */
	readonly launchPayload?: unknown;
	/**
	 * For a program without `launchPayload`: whether the kernel kills it, with its process group, when the host is gone.
	 * `"auto"` (the default): yes, where there is a native binary (Linux on x64 and arm64); the program then has two more
	 * open descriptors. `"off"`: no.
	 */
	readonly lifeline?: "auto" | "off" | undefined;
	/**
	 * The descriptors that the program has open besides 0, 1 and 2. They are created for each start and closed with the
	 * worker. A guard can pass on only the numbers 3 to 6, and listeners only with a lifeline. A program that needs others
	 * starts without the guard, or fails with `DESCRIPTORS_UNSUPPORTED` if the run requires one. A preloaded parent cannot
	 * pass on any.
	 */
	readonly descriptors?: readonly LaunchDescriptor[] | undefined;
	/** Codes with which the program may refuse to start. They become the `StartError`'s code; others become `WORKER_REFUSED`. */
	readonly refusalCodes?: readonly string[] | undefined;
	/**
	 * Who reads standard output and writes standard input. `"pool"` (the default): input is empty, and output lines become
	 * events. `"adapter"`: both belong to the connection; standard error stays with the pool. If the output ends before the
	 * process does, the connection has ended: its calls fail, and the worker is replaced when it has exited, or has been
	 * killed after `stop.killAfterMs`.
	 */
	readonly stdio?: "pool" | "adapter" | undefined;
	/**
	 * Standard input with `stdio: "pool"`. `"empty"` is the default. `"terminal"`: the terminal of this program, if its
	 * input is one; the program then starts without a guard. Input is still empty if the run requires a guard, or if a
	 * preloaded parent forks the program.
	 */
	readonly stdin?: "empty" | "terminal" | undefined;
	/**
	 * The signal that makes the program write its stacks to standard error. It is sent before a hung worker is killed. On
	 * Linux it is also sent before a worker that is not ready in time is killed, if the program handles the signal.
	 */
	readonly dumpSignal?: NodeJS.Signals | undefined;
	/** How the program writes its stacks on request and goes on, as for `snakepit stacks`. Without it, such a request is refused. */
	readonly stacks?: LaunchStacks | undefined;
}

/** How a program writes the stacks of its threads to standard error on request, undisturbed. */
export interface LaunchStacks {
	/** Sent to the process that was started. The program writes its stacks as soon as it can, and goes on. */
	readonly signal: NodeJS.Signals;
	/**
	 * Sent if the program has neither reacted to `signal` nor answered a ping: its handler works even if nothing else in
	 * the program runs.
	 */
	readonly forcedSignal?: NodeJS.Signals | undefined;
	/** The line before the stacks that `signal` asks for. */
	readonly begin: RegExp;
	/** The line after them. */
	readonly end: RegExp;
	/** The lines of stacks. On request, such lines are the answer, and not output of the worker. */
	readonly line: RegExp;
}

/** One descriptor that a program has open. */
export interface LaunchDescriptor {
	/** Its number in the program, from 3 to 255; from 4 with `launchPayload`, whose control channel is 3. */
	readonly fd: number;
	/**
	 * - `"stream"`: a socket that is connected to `WorkerProcess.descriptor(fd)` in both directions. It blocks, like a pipe.
	 * - `"unix-listener"`: a Unix socket in the slot's private directory.
	 * - `"tcp-listener"`: a free port of 127.0.0.1, to which any user of this machine can connect.
	 *
	 * A listener listens before the program begins, so no other program can take its port. From then on, only the program
	 * and its children have it. It is non-blocking, as servers need it. A program that calls `accept()` without an event
	 * loop must make it blocking first.
	 */
	readonly kind: "stream" | "unix-listener" | "tcp-listener";
}

/** Where a socket listens, as `connect` of `node:net` takes it. */
export type ListenerAddress =
	| { readonly path: string }
	| { readonly host: "127.0.0.1"; readonly port: number };
