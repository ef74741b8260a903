import type { WorkerLocation } from "./connection.ts";
import type { ProcessExit, ProcessIdentity, RunId } from "./identity.ts";
import type { RunState } from "./run-and-worker-states.ts";

/** A worker that is about to be spawned. */
export interface Reservation {
	/** Names this one process: `runId-number`. */
	readonly incarnation: string;
	readonly workerId: string;
	readonly pool: string;
	/** What will be executed, for people: the executable and a hash of its arguments. */
	readonly fingerprint: string;
	/** Files and directories that are removed when the worker has ended. */
	readonly files: readonly string[];
}

/** Why a worker ended, as the host knows it. */
export type EndReason =
	| "exited"
	| "start_failed"
	| "closed"
	| "recycled"
	| "restarted"
	| "hung"
	| "broken"
	| "stuck"
	/** The companion of its pool ended, and it with it. */
	| "companion_lost"
	/** The process that had forked it ended, a guard or a preloaded parent, and it with that. */
	| "parent_lost"
	| "host_exit"
	| "reaped"
	/** Its host died, and its lifeline ended it. */
	| "host_died"
	| "vanished";

/** Who sent the signal that ended it. */
export type Killer =
	/** It ended by itself, or crashed. */
	| "none"
	/** Its pool: when its time to leave was over, or by force. */
	| "stop_ladder"
	/** The end of its program: a second signal, a grace that was over, or the exit. */
	| "application_cleanup"
	| "reaper"
	/** The kernel, when its host died: its lifeline was connected. */
	| "lifeline"
	/** The process that had forked it was lost: a guard of the run, or the preloaded parent of the pool. */
	| "guard"
	| "preloaded_parent"
	/** A protection, while no host lived: the run's incidents name it. */
	| "protection"
	/** The kernel, because memory had run out: its log or the counter of the control group says so. */
	| "out_of_memory"
	/** None of these: a person or another program. Also the kernel that needed memory, where it does not say so. */
	| "unknown";

/** An error, as the ledger keeps it. */
export interface RecordedError {
	/** Its class, such as `TypeError`. */
	readonly name: string;
	/** Its `code`, if it has one. */
	readonly code: string | undefined;
	/** 2 000 characters at most, with the messages of its causes. `undefined` with `history: { content: "left_out" }`. */
	readonly message: string | undefined;
	/** The first place in its stack that is the program's own code, such as `charge (/srv/shop/pay.ts:12:7)`. */
	readonly at: string | undefined;
}

export interface WorkerEnd {
	readonly exit: ProcessExit | undefined;
	readonly reason: EndReason;
	readonly killer: Killer;
	/** Its last lines, oldest first, 4 096 characters at most; only of an end that was not in order, and where `history.content` allows. */
	readonly tail?: readonly string[] | undefined;
	/** The command of the call that it ran longest at its end, or of its last one; as `tail`. */
	readonly lastCommand?: string | undefined;
	/** Why, in words, where the pool or the kernel says more than `reason` and `killer`; as `tail`. */
	readonly detail?: string | undefined;
}

export type WorkerStatus = "reserved" | "active" | "ended";

export type HasLifeline = "listening" | "none";

/** One row of the ledger. Times are milliseconds since the Unix epoch. */
export interface WorkerRecord extends Reservation {
	readonly runId: RunId;
	readonly status: WorkerStatus;
	/** `undefined` while only reserved. */
	readonly identity: ProcessIdentity | undefined;
	readonly groupId: number | undefined;
	/** Whether it ends when its host does, whatever it is; `undefined` while only reserved, and in ledgers of earlier versions. */
	readonly lifeline: HasLifeline | undefined;
	/** The machine that it runs on, where that is another one: the process above is its stand-in here. */
	readonly location: WorkerLocation | undefined;
	/** Why it could not be started; `undefined` if it was, or nobody wanted it any more. */
	readonly startError: RecordedError | undefined;
	readonly reservedAt: number;
	readonly activatedAt: number | undefined;
	/** Of a worker whose host had died: when a protection ended it, otherwise when the run was cleaned up. */
	readonly endedAt: number | undefined;
	readonly end: WorkerEnd | undefined;
}

/** The program of a run. */
export interface HostProgram {
	/** The file name of its main module. */
	readonly name: string;
	readonly cwd: string;
	/** As in `process.argv`: 64 arguments at most, each with 1 000 characters at most. `undefined` with `history: { content: "left_out" }`. */
	readonly argv?: readonly string[] | undefined;
	/** The version of Node. */
	readonly node: string;
	/** The version of Snakepit. */
	readonly snakepit: string;
}

/** An error of a program that no code of it caught. */
export interface UncaughtError extends RecordedError {
	readonly wallMs: number;
	/** As Node names it. */
	readonly origin: "uncaughtException" | "unhandledRejection";
	/** `"goes_on"`: the program listens to `uncaughtException` and decides itself. */
	readonly outcome: "ends" | "goes_on";
}

/** How the program of a run ended, as far as it could record that. */
export interface ProgramEnd {
	/**
	 * `"finished"`: nothing was left to do. `"exited"`: it called `process.exit()`. `"crashed"`: by `error`. `"signal"`: by
	 * `signal`. `"out_of_memory"`: the kernel killed it, as its log shows. `"machine_restarted"`: its machine was.
	 * `undefined`: it lives, or closed the run and what became of it later was not recorded, or it died and recorded nothing:
	 * SIGKILL, a crash in native code, `process.abort()`.
	 */
	readonly how:
		| "finished"
		| "exited"
		| "crashed"
		| "signal"
		| "out_of_memory"
		| "machine_restarted"
		| undefined;
	/** When; milliseconds since the Unix epoch. */
	readonly wallMs: number | undefined;
	/** Its exit code; `undefined` where a signal ended it. */
	readonly code: number | undefined;
	/** Which code of the program called `process.exit()`, as in {@link RecordedError.at}. */
	readonly at: string | undefined;
	/** The last signal that it got and had a listener for, Snakepit's included. */
	readonly signal:
		| { readonly name: NodeJS.Signals; readonly wallMs: number }
		| undefined;
	/** The last error that nothing caught. */
	readonly error: UncaughtError | undefined;
	/** What the kernel says, with `"out_of_memory"`. */
	readonly detail: string | undefined;
	/** `"thread"`: what ended is a worker thread of the program, which had opened the run. */
	readonly of: "program" | "thread";
}

/** Of a program that has not ended, or recorded nothing of its end. */
export const UNKNOWN_END: ProgramEnd = {
	...{ how: undefined, wallMs: undefined, code: undefined, at: undefined },
	...{ signal: undefined, error: undefined, detail: undefined, of: "program" },
};

/** One run: one life of a host program in one data directory. */
export interface RunRecord {
	readonly runId: RunId;
	readonly state: RunState;
	readonly owner: ProcessIdentity;
	/** `undefined` in ledgers of earlier versions. */
	readonly program: HostProgram | undefined;
	readonly startedAt: number;
	readonly endedAt: number | undefined;
	/** `true` when its own host ended it in order; `undefined` while it lives. */
	readonly clean: boolean | undefined;
	/** `host`, or what cleaned up after it: `reaper:RUNID` of a later run, `watchdog:RUNID` of its own, `command:PID` of `snakepit reap`. */
	readonly endedBy: string | undefined;
	/**
	 * How many processes had to be ended after the host was gone: by what cleaned up after it, and before that by its
	 * protections, each of which is an incident `protection.process_killed`.
	 */
	readonly killed: number;
	/** How long cleaning up after it took, in milliseconds; `undefined` when its own host ended it. */
	readonly cleanupMs: number | undefined;
	/** How its program ended; `undefined` as long as nothing is known of that. */
	readonly programEnd: ProgramEnd | undefined;
}

/** Called with the workers of a run in the turn in which they are recorded. */
export interface RegistryListener {
	activated(worker: {
		readonly incarnation: string;
		readonly identity: ProcessIdentity;
		readonly groupId: number;
	}): void;
	ended(incarnation: string): void;
}

export interface RegistryStatistics {
	readonly reserved: number;
	readonly active: number;
	readonly ended: number;
	/** Rows that are only in memory because the ledger could not be written. */
	readonly unwritten: number;
	readonly commits: number;
	/** How long all of them took together, in milliseconds. */
	readonly commitMs: number;
	/** Longest commit, in milliseconds: how long the event loop was blocked. */
	readonly longestCommitMs: number;
}

/**
 * The ledger of one run: what this host reserved, spawned and ended. Every
 * change outlives this host when the call returns, and changes of the run power
 * loss as well.
 */
export interface ProcessRegistry {
	readonly runId: RunId;
	readonly state: RunState;
	/** This very run; `readHistory` of `@snakepit/core/inspect` reads the others of its data directory. */
	readonly record: RunRecord;
	/** A fresh incarnation name of this run. */
	nextIncarnation(): string;
	/**
	 * Records the intention to spawn, before there is a process.
	 *
	 * @throws RegistryError when it cannot be written and no worker of this run is recorded yet.
	 */
	reserve(reservation: Reservation): void;
	/** Records the process, in the same turn as its spawn. */
	activate(
		incarnation: string,
		identity: ProcessIdentity,
		groupId: number,
		lifeline?: HasLifeline,
	): void;
	/** Records on which other machine it runs, once that is known. */
	locate(incarnation: string, location: WorkerLocation): void;
	/** Records why a worker could not be started; of one that was never reserved, also that it was to be. */
	failStart(
		worker: Pick<Reservation, "incarnation" | "workerId" | "pool">,
		error: RecordedError,
	): void;
	/** Records the end. Harmless when it is recorded already. */
	end(incarnation: string, end: WorkerEnd): void;
	/** One step of the run's life; see `RUN_TRANSITIONS`. */
	transition(to: RunState): void;
	/** Workers of this run that are reserved or active. */
	living(): readonly WorkerRecord[];
	/** Every worker of this run, ended ones included, oldest first. */
	list(): readonly WorkerRecord[];
	/** By incarnation. */
	lookup(incarnation: string): WorkerRecord | undefined;
	statistics(): RegistryStatistics;
	/** Writes what could not be written before; called periodically. Returns how many rows are still unwritten. */
	flush(): number;
	/**
	 * Ends the run and releases its files. Idempotent.
	 *
	 * @param manner `"at_once"` waits for no disk: a run that has ended and is lost in a power failure is missing in the history, and is needed for nothing else. Default `"in_order"`.
	 */
	close(manner?: "in_order" | "at_once"): void;
}
