import type { Duplex, Readable, Writable } from "node:stream";
import type { ProcessExit, ProcessIdentity } from "../contract/identity.ts";
import type {
	OwnGroup,
	ProcessSpec,
	SignalOutcome,
	SignalTarget,
	StartedProcess,
} from "../contract/world.ts";
import { inheritedStreams } from "./descriptors.ts";
import { channelNumber, channelOf } from "./launcher.ts";

/** A process that was started for this program, with this side of its descriptors. */
export class ConnectedProcess implements StartedProcess {
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
	protected readonly group: OwnGroup;

	/** @param at the connection to one of its descriptors. */
	constructor(
		source: string,
		identity: ProcessIdentity,
		exited: Promise<ProcessExit>,
		group: OwnGroup,
		spec: ProcessSpec,
		at: (fd: number) => Duplex | undefined,
	) {
		this.source = source;
		this.identity = identity;
		this.groupId = identity.pid;
		this.exited = exited;
		this.group = group;
		this.stdin = at(0);
		this.stdout = at(1) as Duplex;
		this.stderr = at(2) as Duplex;
		const channel = channelNumber(spec);
		const { control, executed } = channelOf(
			spec,
			channel === undefined ? undefined : at(channel),
		);
		this.control = control;
		this.executed = executed;
		this.streams = inheritedStreams(spec, at);
		// The end of an output is read before libuv reaps in the same turn: what the leader
		// started is proven, however many others are reaped before its own exit is reported.
		for (const output of [this.stdout, this.stderr, this.control])
			output?.once("end", () => group.noteLeader());
	}

	signal(signal: NodeJS.Signals, target: SignalTarget): SignalOutcome {
		return target === "group"
			? this.group.signal(signal)
			: this.group.signalLeader(signal);
	}
}
