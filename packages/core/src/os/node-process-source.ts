import {
	type ChildProcess,
	type SpawnOptions,
	spawn,
} from "node:child_process";
import type { Duplex, Readable, Writable } from "node:stream";
import type { StartError } from "../errors.ts";
import type { Observation, ProcessIdentity } from "../identity.ts";
import type {
	ProcessExit,
	ProcessFacts,
	ProcessSource,
	ProcessSpec,
	SignalOutcome,
	SignalTarget,
	StartedProcess,
} from "../world.ts";
import { ProcessGroup } from "./process-group.ts";
import { sendSignal } from "./send-signal.ts";
import { spawnFailed, unidentified } from "./spawn-failure.ts";

/** What the source asks of the process table. */
export interface ProcessLook {
	/** A child that has ended already is still a zombie in the turn of its spawn. */
	identify(pid: number): Observation;
	members(groupId: number): readonly ProcessFacts[];
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
			record(identity);
			return new NodeChild(child, identity, exit, this.#look);
		} catch (error) {
			// Not reaped in this turn: the pid cannot be anyone else's yet.
			sendSignal(-child.pid, "SIGKILL");
			for (const stream of child.stdio) stream?.destroy();
			throw error;
		}
	}
}

class NodeChild implements StartedProcess {
	readonly source = "node";
	readonly identity: ProcessIdentity;
	readonly groupId: number;
	readonly exited: Promise<ProcessExit>;
	readonly stdin: Writable | undefined;
	readonly stdout: Readable;
	readonly stderr: Readable;
	readonly control: Duplex | undefined;
	readonly #look: ProcessLook;
	/** Set at the leader's end. */
	#orphaned: ProcessGroup | undefined;

	constructor(
		child: ChildProcess,
		identity: ProcessIdentity,
		exited: Promise<ProcessExit>,
		look: ProcessLook,
	) {
		this.identity = identity;
		this.groupId = identity.pid;
		this.exited = exited;
		this.stdin = child.stdin ?? undefined;
		this.stdout = child.stdout as Readable;
		this.stderr = child.stderr as Readable;
		this.control = (child.stdio[3] as Duplex | null | undefined) ?? undefined;
		this.#look = look;
		child.once("exit", () => {
			this.#orphaned = new ProcessGroup(
				this.groupId,
				look.members(this.groupId),
			);
		});
		// An idle pool does not hold the program open.
		child.unref();
		for (const stream of child.stdio)
			(stream as { unref?: () => void } | null)?.unref?.();
	}

	signal(signal: NodeJS.Signals, target: SignalTarget): SignalOutcome {
		// Until Node tells of the end it has not reaped it: the number is held.
		if (this.#orphaned === undefined)
			return sendSignal(
				target === "group" ? -this.groupId : this.groupId,
				signal,
			);
		if (target === "process") return "gone";
		return this.#orphaned.stillOurs(this.#look.members(this.groupId))
			? sendSignal(-this.groupId, signal)
			: "gone";
	}
}

function begin(spec: ProcessSpec): ChildProcess {
	const options: SpawnOptions = {
		// A session and a group of its own.
		detached: true,
		shell: false,
		env: spec.env,
		stdio: [
			spec.stdin === "pipe" ? "pipe" : "ignore",
			"pipe",
			"pipe",
			spec.control ? "pipe" : "ignore",
		],
		...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
	};
	try {
		return spawn(spec.executable, [...spec.args], options);
	} catch (error) {
		throw spawnFailed(error as NodeJS.ErrnoException, spec);
	}
}

function exitOf(child: ChildProcess): Promise<ProcessExit> {
	// Not `close`: a grandchild may hold the output open for ever.
	return new Promise((resolve) => {
		child.once("exit", (code, signal) =>
			resolve(
				signal === null
					? { kind: "code", code: code ?? 0 }
					: { kind: "signal", signal },
			),
		);
		child.on("error", () => {}); // A later error of the handle is told by the exit.
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
