import {
	type ChildProcess,
	type SpawnOptions,
	spawn,
} from "node:child_process";
import type { Duplex } from "node:stream";
import { isatty } from "node:tty";
import type { StartError } from "../contract/errors.ts";
import {
	type Observation,
	type ProcessExit,
	type ProcessIdentity,
	processExit,
} from "../contract/identity.ts";
import type {
	OwnGroup,
	ProcessSource,
	ProcessSpec,
	StartedProcess,
} from "../contract/world.ts";
import { ConnectedProcess } from "./connected-process.ts";
import { requireToSpawn } from "./descriptors.ts";
import { channelNumber, commandOf } from "./launcher.ts";
import { sendSignal } from "./process-group.ts";
import { spawnFailed, unidentified } from "./spawn-failure.ts";

/** What the source asks of the process table. */
export interface ProcessLook {
	/** A child that has ended already is still a zombie in the turn of its spawn. */
	identify(pid: number): Observation;
	ownGroup(leader: ProcessIdentity, spec: ProcessSpec): OwnGroup;
}

/** Starts programs as children of this very Node process. */
export class NodeProcessSource implements ProcessSource {
	readonly name = "node";
	readonly #look: ProcessLook;

	constructor(look: ProcessLook) {
		this.#look = look;
	}

	async start(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		const child = begin(spec);
		if (child.pid === undefined) throw await spawnFailure(child, spec);
		const exit = exitOf(child);
		try {
			const identity = this.#look.identify(child.pid);
			if (typeof identity === "string") throw unidentified(child.pid, spec);
			const group = this.#look.ownGroup(identity, spec);
			record(identity);
			return new NodeChild(child, identity, exit, group, spec);
		} catch (error) {
			// Node reaps only in later turns: until then, no other process has the pid.
			sendSignal(-child.pid, "SIGKILL");
			for (const stream of child.stdio) stream?.destroy();
			throw error;
		}
	}
}

/** A child of this process. */
class NodeChild extends ConnectedProcess {
	constructor(
		child: ChildProcess,
		identity: ProcessIdentity,
		exited: Promise<ProcessExit>,
		group: OwnGroup,
		spec: ProcessSpec,
	) {
		super("node", identity, exited, group, spec, (fd) => streamAt(child, fd));
		child.once("exit", () => group.leaderEnded());
		// An idle pool does not hold the program open.
		child.unref();
		for (const stream of child.stdio)
			(stream as { unref?: () => void } | null)?.unref?.();
	}
}

function begin(spec: ProcessSpec): ChildProcess {
	const stdio = stdioOf(spec);
	const options: SpawnOptions = {
		// A session and a group of its own.
		detached: true,
		shell: false,
		env: spec.env,
		stdio,
		...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
	};
	try {
		const { executable, args } = commandOf(spec);
		requireToSpawn(stdio.filter((each) => each === "pipe").length);
		return spawn(executable, [...args], options);
	} catch (error) {
		throw spawnFailed(error as NodeJS.ErrnoException, spec);
	}
}

/** What the process finds at each of its descriptors. */
function stdioOf(spec: ProcessSpec): (number | "pipe" | "ignore")[] {
	const stdio: (number | "pipe" | undefined)[] = [
		...[stdinOf(spec), "pipe" as const, "pipe" as const],
	];
	for (const [fd, what] of spec.descriptors ?? [])
		if (what === "stream") stdio[fd] = "pipe";
		else if ("fd" in what) stdio[fd] = what.fd;
	const channel = channelNumber(spec);
	if (channel !== undefined) stdio[channel] = "pipe";
	return Array.from(stdio, (each) => each ?? "ignore");
}

/** In a session of its own a process may read from this program's terminal, although it is not in its foreground. */
function stdinOf({ stdin }: ProcessSpec): 0 | "pipe" | undefined {
	if (stdin === "pipe") return "pipe";
	return stdin === "terminal" && isatty(0) ? 0 : undefined;
}

/** This end of a connection to the process. */
function streamAt({ stdio }: ChildProcess, fd: number): Duplex | undefined {
	const all: readonly unknown[] = stdio;
	return (all[fd] ?? undefined) as Duplex | undefined;
}

function exitOf(child: ChildProcess): Promise<ProcessExit> {
	// Not `close`: a grandchild may hold the output open for ever.
	return new Promise((resolve) => {
		child.once("exit", (code, signal) => resolve(processExit(code, signal)));
		child.on("error", () => {}); // The exit reports a later error of the handle.
	});
}

function spawnFailure(
	child: ChildProcess,
	spec: ProcessSpec,
): Promise<StartError> {
	return new Promise((resolve) => {
		child.once("error", (error) => resolve(spawnFailed(error, spec)));
	});
}
