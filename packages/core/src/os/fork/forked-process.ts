import type { Duplex, Readable, Writable } from "node:stream";
import type { Clock } from "../../contract/clock.ts";
import {
	isSameProcess,
	type ProcessExit,
	type ProcessIdentity,
} from "../../contract/identity.ts";
import type {
	OwnGroup,
	ProcessHost,
	ProcessSpec,
	SignalOutcome,
	SignalTarget,
	StartedProcess,
} from "../../contract/world.ts";
import { inheritedStreams } from "../descriptors.ts";
import { channelNumber, channelOf } from "../launcher.ts";

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
	readonly streams: ReadonlyMap<number, Duplex>;
	readonly executed: StartedProcess["executed"];
	readonly #host: ProcessHost;
	readonly #group: OwnGroup;
	readonly #resolve: (exit: ProcessExit) => void;
	#end: "open" | "reported" = "open";
	#isParentLost = false;

	constructor(
		group: OwnGroup,
		identity: ProcessIdentity,
		connections: ReadonlyMap<number, Duplex>,
		spec: ProcessSpec,
		{ source, host }: { readonly source: string; readonly host: ProcessHost },
	) {
		const { promise, resolve } = Promise.withResolvers<ProcessExit>();
		this.identity = identity;
		this.groupId = identity.pid;
		this.exited = promise;
		this.#resolve = resolve;
		const at = (number: number): Duplex | undefined => connections.get(number);
		this.stdin = at(0);
		this.stdout = at(1) as Duplex;
		this.stderr = at(2) as Duplex;
		const { control, executed } = channelOf(
			spec,
			at(channelNumber(spec) ?? Number.NaN),
		);
		this.streams = inheritedStreams(spec, at);
		this.control = control;
		this.executed = executed;
		this.source = source;
		this.#host = host;
		this.#group = group;
		for (const output of [this.stdout, this.stderr, this.control])
			output?.once("end", () => group.noteLeader());
	}

	get isParentLost(): boolean {
		return this.#isParentLost;
	}

	signal(signal: NodeJS.Signals, target: SignalTarget): SignalOutcome {
		return target === "group"
			? this.#group.signal(signal)
			: this.#group.signalLeader(signal);
	}

	/** The parent is gone: the process is killed, and its end is reported when it is gone. */
	lost(clock: Clock): void {
		this.#isParentLost = true;
		this.#group.signal("SIGKILL");
		const look = (pauseMs: number): void => {
			const observation = this.#host.observe(this.identity.pid);
			// Unreadable is not gone.
			if (
				observation === "unknown" ||
				(observation !== "gone" && isSameProcess(observation, this.identity))
			) {
				clock.after(pauseMs, () => look(Math.min(2 * pauseMs, LAST_PAUSE_MS)));
				return;
			}
			this.ended({ kind: "signal", signal: "SIGKILL" });
		};
		look(1);
	}

	/** The parent has seen its end. While it lives it keeps the pid until this returns. */
	ended(exit: ProcessExit): void {
		if (this.#end === "reported") return;
		this.#end = "reported";
		// The report may be old: the parent can have ended since, and another process have the number.
		this.#group.leaderEnded();
		this.stdin?.destroy(); // As Node does with the input of its own children.
		this.#resolve(exit);
	}
}
