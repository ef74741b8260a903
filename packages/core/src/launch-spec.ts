import type { Adapter, WorkerSlot } from "./adapter.ts";
import type { RunId } from "./run-id.ts";

/** The place of a process of a pool that is not a worker. */
export type PoolPlace = Pick<
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

/** The place of a companion; its `workerId` is `pool-companion`. */
export interface CompanionPlace extends PoolPlace {
	/** Runs of other machines, which the cleanup left alone. A cluster may know them, see {@link Adapter.located}. */
	readonly runsElsewhere: readonly RunId[];
}

/** The companion that a worker was started with. */
export interface SlotCompanion {
	/** The name of this one process; it is never used again. */
	readonly incarnation: string;
	/** Its private directory, for the sockets that its workers use. */
	readonly directory: string;
	readonly pid: number;
	/** What the program sent in its ready line; `undefined` without a control channel. */
	readonly ready: unknown;
}

/** The place of a preloaded parent; its `workerId` is `pool-preload`. */
export interface PreloadPlace extends PoolPlace {
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
