import type { Duplex, Readable, Writable } from "node:stream";
import type { Clock, Random } from "./clock.ts";
import type { SnakepitEvent } from "./events.ts";
import type {
	Marker,
	Observation,
	ProcessExit,
	ProcessIdentity,
} from "./identity.ts";
import type { ListenerAddress } from "./launch.ts";
import type { ProcessRegistry } from "./process-registry.ts";

/**
 * Everything outside the machinery: time, processes, the ledger, chance and
 * the listeners. The only seam of core; a test hands in a virtual one.
 */
export interface World {
	readonly clock: Clock;
	readonly host: ProcessHost;
	/** Who forks workers: the host's own, or a protection's in its place. */
	readonly source: ProcessSource;
	readonly registry: ProcessRegistry;
	readonly random: Random;
	/** Notifies the listeners when the transition that is under way is complete (`outbox.ts`); never throws. */
	readonly emit: (event: SnakepitEvent) => void;
}

/** What to execute: a program, never a shell line. */
export interface ProcessSpec {
	readonly executable: string;
	readonly args: readonly string[];
	/** The complete environment, the marker included. */
	readonly env: Readonly<Record<string, string>>;
	readonly cwd: string | undefined;
	/** `"pipe"`: the adapter writes to it. `"terminal"`: this program's own where that is a terminal, else empty. */
	readonly stdin: "empty" | "pipe" | "terminal";
	/** Whether descriptor 3 is the control channel. */
	readonly control: boolean;
	/** What it finds open besides, by its number there. */
	readonly descriptors?: ReadonlyMap<number, InheritedDescriptor> | undefined;
	/** What ties the program to the life of this one, where it does not do so itself. */
	readonly launcher?: Launcher | undefined;
	/** Makes this program's connections to the process, which are not its own work; absent if nothing observes that. */
	readonly unobserved?: (<T>(run: () => T) => T) | undefined;
}

/** A connection to this program, or a socket that listens. */
export type InheritedDescriptor = "stream" | BoundListener | LaunchedListener;

/** A socket that the launcher makes, which listens before it becomes the program. */
export interface LaunchedListener {
	/** Without one it has a free port of 127.0.0.1. */
	readonly path: string | undefined;
}

/** A socket that listens, to be given to a program. */
export interface BoundListener {
	readonly address: ListenerAddress;
	/** Its number in this program. */
	readonly fd: number;
	/** Closes this program's copy: from now on only the program that has it accepts. Idempotent, never throws. */
	close(): void;
}

/** The native binary connects to the lifeline, and becomes the program. */
export interface Launcher {
	readonly binary: string;
	/** Where this program listens. */
	readonly lifeline: string;
}

/** What a signal is sent to. */
export type SignalTarget = "process" | "group";
export type SignalOutcome =
	| "sent"
	/** There is no such process any more, or its pid belongs to another one by now. */
	| "gone"
	/** The group's leader is gone and nothing proves that those who have its number were its group: nothing was sent. */
	| "unproven"
	/** The system refused, or the identity could not be read: nothing was sent. */
	| "refused";

/** A process that a {@link ProcessSource} started: leader of a session and group of its own. */
export interface StartedProcess {
	/** The name of the {@link ProcessSource} that forked it. */
	readonly source: string;
	readonly identity: ProcessIdentity;
	/** The process group; equal to the pid of the leader. */
	readonly groupId: number;
	/** Settles once, when the process itself is gone (its output may still be held by a child). Never rejects. */
	readonly exited: Promise<ProcessExit>;
	readonly stdin: Writable | undefined;
	readonly stdout: Readable;
	readonly stderr: Readable;
	readonly control: Duplex | undefined;
	/** This end of each stream of {@link ProcessSpec.descriptors}. An error of one is followed by its end. */
	readonly streams: ReadonlyMap<number, Duplex>;
	/**
	 * Present with a launcher: resolves when the program runs, or the process is gone, to the ports of the listeners that
	 * the launcher made, by their numbers in the program. Rejects with StartError `SPAWN_FAILED` when it cannot be executed.
	 */
	readonly executed?: Promise<ReadonlyMap<number, number>> | undefined;
	/** True from the moment in which the process that forked it is known to be gone; it is killed then. */
	readonly isParentLost?: boolean | undefined;
	/**
	 * Sends a signal if the process is proven to be this one in the same turn; to a
	 * group also after its leader is gone, if a member is proven to be of it.
	 */
	signal(signal: NodeJS.Signals, target: SignalTarget): SignalOutcome;
}

/**
 * The group of a process that this program started, from its leader's spawn on.
 * Every signal is proven in the turn in which it is sent.
 */
export interface OwnGroup {
	/** The leader's pid. */
	readonly id: number;
	/**
	 * Looks whether the leader still holds its number, dead or alive. What starts
	 * in the group before such a moment can be proven after the leader is gone. The
	 * host looks every two seconds by itself.
	 */
	noteLeader(): void;
	/** The leader has ended. Looks for the processes that are left: what is proven now stays proven while it lives. */
	leaderEnded(): void;
	/** Sends to the leader alone, while it has its number. */
	signalLeader(signal: NodeJS.Signals): SignalOutcome;
	/** Sends to the whole group. */
	signal(signal: NodeJS.Signals): SignalOutcome;
}

/**
 * Who forks. Node itself is the first; a guard or a preloaded parent can take
 * its place, and nothing else changes.
 */
export interface ProcessSource {
	/** Stable, lower case; appears in events. */
	readonly name: string;
	/**
	 * Starts a program.
	 *
	 * Calls `record` with its identity before the program can do any work that
	 * matters, in the same turn as the spawn or while the program is held; when
	 * `record` throws, the process is killed and the error passed on.
	 *
	 * @throws StartError `SPAWN_FAILED` when the system cannot start it; `DESCRIPTORS_UNSUPPORTED` when this source
	 *   cannot give it its descriptors.
	 */
	start(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess>;
}

/** One process, as the process table shows it. */
export interface ProcessFacts {
	readonly identity: ProcessIdentity;
	readonly groupId: number;
	/** A zombie is dead: it only waits to be noticed. */
	readonly condition: "alive" | "zombie";
	/** User and system time used, in milliseconds. */
	readonly cpuTimeMs: number;
	/** Resident memory, in bytes. */
	readonly residentBytes: number;
}

/** One thread, as the process table shows it. */
export interface ThreadFacts {
	/** Never names another thread of the same process. */
	readonly id: string;
	/** User and system time used, in milliseconds. */
	readonly cpuTimeMs: number;
	/**
	 * `"uninterruptible"`: the kernel lets it wait for a device or a file system. `"traced"`: a debugger stopped it.
	 * `"stopped"`: a signal stopped it.
	 */
	readonly held: "no" | "uninterruptible" | "traced" | "stopped";
}

export interface MarkedProcess {
	readonly identity: ProcessIdentity;
	readonly groupId: number;
	readonly marker: Marker;
	/** Which worker it descends from; `undefined` when that is not readable. */
	readonly incarnation: string | undefined;
	/** For reports: the program's name as the system shows it. */
	readonly name: string;
}

/** `"none"`: the kernel did not kill it because memory had run out. */
export type MemoryKill =
	| { readonly kind: "killed"; readonly evidence: string }
	| { readonly kind: "none" };

/** The operating system as the machinery sees it. */
export interface ProcessHost {
	/** Node itself as the parent. */
	readonly source: ProcessSource;
	/** The identity of this very process. */
	readonly self: ProcessIdentity;
	/** Whether pools can be started here; `"win32"` for one is not supported. */
	readonly platform: NodeJS.Platform;
	/** Looks at one pid. */
	observe(pid: number): Observation;
	/** Looks at one pid in detail; `undefined` when it is gone or cannot be read. */
	facts(pid: number): ProcessFacts | undefined;
	/** The threads of one process; a system that does not show them shows the process as one thread. Empty when it is gone or cannot be read. */
	threads(pid: number): readonly ThreadFacts[];
	/** Whether a process has a handler of its own for a signal; `"unknown"` where the system does not report it. */
	handles(
		identity: ProcessIdentity,
		signal: NodeJS.Signals,
	): "yes" | "no" | "unknown";
	/**
	 * The group of a process that this program started, whose environment `spec`
	 * has. Called in the turn in which the leader's identity was read.
	 */
	ownGroup(leader: ProcessIdentity, spec: Pick<ProcessSpec, "env">): OwnGroup;
	/** The living members of a process group. */
	members(groupId: number): readonly ProcessFacts[];
	/** The living members of several process groups, by one look. */
	membersOf(
		groupIds: readonly number[],
	): ReadonlyMap<number, readonly ProcessFacts[]>;
	/**
	 * Every living process that carries a marker and can be read, this process excluded, and those of which it is proven
	 * that they were given a copy of it.
	 */
	marked(): readonly MarkedProcess[];
	/** Reads the identity again, and sends only if it is still `identity`. */
	signal(identity: ProcessIdentity, signal: NodeJS.Signals): SignalOutcome;
	/**
	 * What the kernel says about a process that is gone: whether it killed the process because memory had run out;
	 * `undefined` where it says nothing about that.
	 *
	 * @param whose `"own"`: this program started it, has just seen it end by SIGKILL, and did not send that.
	 */
	killedForMemory(
		identity: ProcessIdentity,
		whose: "own" | "other",
	): Promise<MemoryKill | undefined>;
	/** Makes a fresh directory (0700) that only this user can enter. */
	createDirectory(path: string): void;
	/**
	 * Removes files and directories, and what the records of dead processes in them have as named in shared memory; those
	 * that are missing do not matter. Returns those that could not be removed.
	 */
	remove(paths: readonly string[]): readonly string[];
	/** Listens for lifelines: accepts, holds, never writes, reads or half-closes. */
	listenLifeline(path: string): Promise<LifelineListener>;
	/**
	 * Makes a socket that listens: at this path, for this user only, or without one at a free port of 127.0.0.1.
	 *
	 * @throws StartError when the system refuses.
	 */
	bindListener(path?: string): Promise<BoundListener>;
	/** The native binary that ties programs to a lifeline; `undefined` where there is none for this system. */
	nativeBinary(): string | undefined;
	/** Holds the program open until the returned function is called. */
	keepAlive(): () => void;
	/** Whether a debugger is attached to this process. */
	debuggerAttached(): boolean;
	/** Writes one line for people on this process's standard error. */
	echo(line: string): void;
}

export interface LifelineListener {
	readonly path: string;
	/** Closes every connection and removes the socket. A worker that holds one dies of it. */
	close(): void;
}
