import type { ProcessIdentity } from "../contract/identity.ts";
import type {
	MarkedProcess,
	ProcessFacts,
	ProcessHost,
	SignalOutcome,
} from "../contract/world.ts";
import type { Descendant } from "./descendants.ts";

/** One look at everything that runs here. */
export interface Census {
	/** Zombies included. */
	readonly processes: readonly ProcessFacts[];
	/** The living ones that carry a marker, this process excluded. */
	readonly marked: readonly MarkedProcess[];
	/** The living guards, with the marker of the run that each guards. */
	readonly guards: readonly MarkedProcess[];
}

/** A host that can also end processes which are not its children. */
export interface CensusHost extends ProcessHost {
	census(): Census;
	/** The living descendants of a process, parents before children; see {@link descendantsOf}. */
	descendants(ancestor: ProcessIdentity): readonly Descendant[];
	/** Whether a process was stopped by a signal, or by what traces it. */
	halted(identity: ProcessIdentity): "no" | "stopped" | "traced";
	/** The pids of this process's parent, its parent's parent, and so on. */
	ancestors(): readonly number[];
	/** Whether this very process, alive or not yet reaped, has a group's number now, as its pid or as a member. */
	holdsNumber(groupId: number, member: ProcessIdentity): boolean;
	/** Sends to a whole group while `member`, alive or not yet reaped, is in it: no other group can have its number then. */
	signalGroup(
		groupId: number,
		member: ProcessIdentity,
		signal: NodeJS.Signals,
	): SignalOutcome;
}
