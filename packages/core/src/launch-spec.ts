import type { Adapter, WorkerSlot } from "./adapter.ts";
import type { RunId } from "./run-id.ts";

/** Where a process of a pool is that is none of its workers. */
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

/** Where a companion is; its `workerId` is `pool-companion`. */
export interface CompanionPlace extends PoolPlace {
	/** Runs of other machines, which the cleanup left alone: a cluster may know of them, see {@link Adapter.located}. */
	readonly runsElsewhere: readonly RunId[];
}

/** The companion that a worker was started with. */
export interface SlotCompanion {
	/** Names this one process: never used again. */
	readonly incarnation: string;
	/** Its private directory, for the sockets of which its workers know. */
	readonly directory: string;
	readonly pid: number;
	/** What the program sent in its ready line; `undefined` without a control channel. */
	readonly ready: unknown;
}

/** Where a preloaded parent is; its `workerId` is `pool-preload`. */
export interface PreloadPlace extends PoolPlace {
	/** Where the parent takes the connections that become the descriptors of its workers. */
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
	/** Laid over what is inherited; `undefined` removes a variable. */
	readonly env?: Readonly<Record<string, string | undefined>> | undefined;
	/**
	 * Which variables of the host's environment the program inherits: `"all"`; `"minimal"`, those that say where programs,
	 * home, temporary files and certificates are, how to speak to people and through which proxy to the network, which have
	 * no secrets (a proxy whose URL has a password is left out); or these names in addition to the
	 * minimal ones.
	 * @default "all"
	 */
	readonly inheritEnv?: "all" | "minimal" | readonly string[] | undefined;
	readonly cwd?: string | undefined;
	/**
	 * Present when the program speaks the control channel on descriptor 3
	 * (docs/bridge-protocol.md): the payload of its launch message, JSON. Absent
	 * for programs that do not use Snakepit.
	 */
	readonly launchPayload?: unknown;
	/**
	 * Of a program without `launchPayload`, which does not know that it is a worker: whether the kernel kills it, with
	 * its process group, when the host is gone. `"auto"` (the default): yes, where there is a native binary (Linux on x64
	 * and arm64). The program has two more open descriptors then. `"off"`: no.
	 */
	readonly lifeline?: "auto" | "off" | undefined;
	/**
	 * What the program finds open besides 0, 1 and 2. Each is made anew for each start, and is gone with the worker.
	 * A guard gives a program those that are numbered 3 to 6, and listeners only with a lifeline: one that asks for more is
	 * started without the guard, or fails as `DESCRIPTORS_UNSUPPORTED` where the run requires a guard. A preloaded parent
	 * gives none.
	 */
	readonly descriptors?: readonly LaunchDescriptor[] | undefined;
	/** With which the program may answer that it cannot start: codes of the `StartError`, any other is `WORKER_REFUSED`. */
	readonly refusalCodes?: readonly string[] | undefined;
	/**
	 * Who reads standard output and writes standard input. `"pool"` (the default):
	 * input is empty, output lines become events. `"adapter"`: both belong to the
	 * conversation; standard error stays with the pool. Output that ends before the
	 * process does is the end of the conversation: its calls fail, and the worker is
	 * replaced when it has ended by itself, or was ended after `stop.killAfterMs`.
	 */
	readonly stdio?: "pool" | "adapter" | undefined;
	/**
	 * What standard input is with `stdio: "pool"`: `"empty"` (the default), or `"terminal"`, that of this program where
	 * that is a terminal: then the program is started without a guard. It is empty elsewhere, where the run requires a
	 * guard, and for a program that a preloaded parent starts.
	 */
	readonly stdin?: "empty" | "terminal" | undefined;
	/**
	 * The signal that makes the program write its stacks to standard error. Sent before a hung worker is killed, and
	 * before one that is not ready in time, this one only where the system reports that the program handles it (Linux).
	 */
	readonly dumpSignal?: NodeJS.Signals | undefined;
}

/** One descriptor that a program finds open. */
export interface LaunchDescriptor {
	/** Its number in the program, from 3 to 255; from 4 with `launchPayload`, whose control channel is 3. */
	readonly fd: number;
	/**
	 * - `"stream"`: a socket, connected to `WorkerProcess.descriptor(fd)` both ways. It is blocking, as a pipe is.
	 * - `"unix-listener"`: a Unix socket in the slot's private directory.
	 * - `"tcp-listener"`: a free port of 127.0.0.1, to which any user of this machine can connect.
	 *
	 * A listener is bound and listens before the program begins, so there is no race for a port; from then on only the
	 * program and its children have it. It is non-blocking, as servers need it: a program that calls `accept()` without
	 * a loop of events makes it blocking first.
	 */
	readonly kind: "stream" | "unix-listener" | "tcp-listener";
}

/** Where a socket listens, as `connect` of `node:net` takes it. */
export type ListenerAddress =
	| { readonly path: string }
	| { readonly host: "127.0.0.1"; readonly port: number };
