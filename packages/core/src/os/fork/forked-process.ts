import type { Duplex, Readable, Writable } from "node:stream";
import { isSameProcess, type ProcessIdentity } from "../../identity.ts";
import type {
	Clock,
	ProcessExit,
	ProcessHost,
	SignalOutcome,
	SignalTarget,
	StartedProcess,
} from "../../world.ts";
import { ProcessGroup } from "../process-group.ts";
import { sendSignal } from "../send-signal.ts";
import type { Descriptors } from "./descriptors.ts";

/** Between two looks at a process that is stuck in the kernel. */
const LAST_PAUSE_MS = 100;

/** A worker whose parent is another process than this one, which keeps its pid until this side has seen its end. */
export class ForkedProcess implements StartedProcess {
	readonly source: string;
	readonly identity: ProcessIdentity;
	readonly groupId: number;
	readonly exited: Promise<ProcessExit>;
	readonly stdin: Writable | undefined;
	readonly stdout: Readable;
	readonly stderr: Readable;
	readonly control: Duplex | undefined;
	readonly #host: ProcessHost;
	readonly #resolve: (exit: ProcessExit) => void;
	/** Set at the leader's end. */
	#orphaned: ProcessGroup | undefined;

	constructor(
		identity: ProcessIdentity,
		descriptors: Descriptors,
		{ source, host }: { readonly source: string; readonly host: ProcessHost },
	) {
		const { promise, resolve } = Promise.withResolvers<ProcessExit>();
		this.identity = identity;
		this.groupId = identity.pid;
		this.exited = promise;
		this.#resolve = resolve;
		this.stdin = descriptors.stdin;
		this.stdout = descriptors.stdout;
		this.stderr = descriptors.stderr;
		this.control = descriptors.control;
		this.source = source;
		this.#host = host;
	}

	signal(signal: NodeJS.Signals, target: SignalTarget): SignalOutcome {
		if (this.#orphaned === undefined) {
			// The parent keeps the number, unless it has just been lost itself.
			const seen = this.#host.facts(this.identity.pid);
			if (seen === undefined || !isSameProcess(seen.identity, this.identity))
				return "gone";
			return sendSignal(
				target === "group" ? -this.groupId : this.groupId,
				signal,
			);
		}
		if (target === "process") return "gone";
		return this.#orphaned.stillOurs(this.#host.members(this.groupId))
			? sendSignal(-this.groupId, signal)
			: "gone";
	}

	/** The parent is gone, and with it what it knows: the process is killed, and its end is told when it is seen to be gone. */
	lost(clock: Clock): void {
		const group = new ProcessGroup(
			this.groupId,
			this.#host.members(this.groupId),
		);
		if (group.stillOurs(this.#host.members(this.groupId)))
			sendSignal(-this.groupId, "SIGKILL");
		const look = (pauseMs: number): void => {
			const seen = this.#host.observe(this.identity.pid);
			// Unreadable is not gone.
			if (
				seen === "unknown" ||
				(seen !== "gone" && isSameProcess(seen, this.identity))
			) {
				clock.after(pauseMs, () => look(Math.min(2 * pauseMs, LAST_PAUSE_MS)));
				return;
			}
			this.ended({ kind: "signal", signal: "SIGKILL" });
		};
		look(1);
	}

	/** The parent has seen its end, and keeps its pid until this returns. */
	ended(exit: ProcessExit): void {
		if (this.#orphaned !== undefined) return;
		this.#orphaned = new ProcessGroup(
			this.groupId,
			this.#host.members(this.groupId),
		);
		this.stdin?.destroy(); // As Node does with the input of its own children.
		this.#resolve(exit);
	}
}
