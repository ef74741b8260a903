import {
	isSameProcess,
	type Marker,
	type ProcessIdentity,
} from "../contract/identity.ts";
import type {
	MarkedProcess,
	ProcessFacts,
	ProcessHost,
	SignalOutcome,
} from "../contract/world.ts";
import type { ProcessTable, TableEntry } from "./process-table.ts";

type Table = Pick<ProcessTable, "entry" | "children">;
type FactsOf = (entry: TableEntry) => ProcessFacts;

/** A process below another one, with the process that was its parent when it was found. */
export interface Descendant extends ProcessFacts {
	readonly parent: ProcessIdentity;
}

/** What forks without end is ended as a group, not one by one. */
const DESCENDANTS_LIMIT = 10_000;

/**
 * The living descendants of a process, parents before children. Those whose own
 * parent has ended are not among them.
 */
export function descendantsOf(
	ancestor: ProcessIdentity,
	table: Table,
	factsOf: FactsOf,
): readonly Descendant[] {
	const descendants: Descendant[] = [];
	const visited = new Set([ancestor.pid]);
	const open = [ancestor];
	for (let next = open.shift(); next !== undefined; next = open.shift()) {
		const children = childrenOf(next, table, factsOf).filter(
			({ identity }) => !visited.has(identity.pid),
		);
		for (const child of children) {
			if (visited.size > DESCENDANTS_LIMIT) return descendants;
			visited.add(child.identity.pid);
			descendants.push(child);
			open.push(child.identity);
		}
	}
	return descendants;
}

/** The living children of a process; none when it has ended meanwhile. */
function childrenOf(
	parent: ProcessIdentity,
	table: Table,
	factsOf: FactsOf,
): readonly Descendant[] {
	const children = table.children(parent.pid).flatMap((pid) => {
		const entry = table.entry(pid);
		// What has another parent by now has taken the number of a child that ended.
		if (typeof entry === "string" || entry.parentPid !== parent.pid) return [];
		return entry.condition === "zombie" ? [] : [{ ...factsOf(entry), parent }];
	});
	// Checked afterwards: until then, the parent's number belonged to no other process.
	const latest = table.entry(parent.pid);
	const isSame =
		typeof latest !== "string" &&
		isSameProcess(factsOf(latest).identity, parent);
	return isSame ? children : [];
}

/** The process that adopts orphans wherever nothing else does. */
const INIT = 1;

/**
 * What proves that a process which carries a marker descends from no worker of that run: it was given a copy of a worker's
 * environment, by a person, a job scheduler or a daemon that starts programs with the variables of who asks for them.
 *
 * Only what is proven counts. The marker alone decides about an orphan that init, or a process older than the host, has
 * adopted or started: which of the two it was leaves no trace.
 */
export class Descent {
	readonly #table: ProcessTable;
	/** Processes that adopt orphans of this program's workers, if no other one is nearer. */
	readonly #ancestors: () => readonly number[];
	readonly #self: number;
	/** Of one look: the workers of a pool have the same parent. */
	readonly #carriers = new Map<number, "yes" | "no" | "unknown">();
	/** The oldest member of each session. */
	readonly #oldest = new Map<number, TableEntry>();

	/** @param entries all processes of one look. */
	constructor(
		table: ProcessTable,
		entries: readonly TableEntry[],
		self: number,
		ancestors: () => readonly number[],
	) {
		this.#table = table;
		this.#self = self;
		this.#ancestors = ancestors;
		for (const entry of entries) {
			const { sessionId, startedAt } = entry;
			if (sessionId === undefined || startedAt === undefined) continue;
			const oldest = this.#oldest.get(sessionId)?.startedAt ?? Infinity;
			if (startedAt < oldest) this.#oldest.set(sessionId, entry);
		}
	}

	/** Whether it is proven that `entry`, which carries `marker`, descends from no worker. */
	isDisproved(entry: TableEntry, marker: Marker): boolean {
		const hostStartedAt = Number(marker.hostStartTime);
		const isOlder = ({ startedAt }: TableEntry): boolean =>
			startedAt !== undefined && startedAt < hostStartedAt;
		// Not a number where start times are not counted: nothing is older then.
		if (isOlder(entry)) return true;
		// Who is in a session descends from the process that began it, and every worker begins one.
		if (this.#isInOldSession(entry, isOlder)) return true;
		return this.#isStartedByStranger(entry, marker, isOlder);
	}

	/** The process that began a session may have ended: any other member proves how old the session is at least. */
	#isInOldSession(
		entry: TableEntry,
		isOlder: (entry: TableEntry) => boolean,
	): boolean {
		const { sessionId } = entry;
		if (sessionId === undefined) return false;
		const leader = this.#table.entry(sessionId);
		if (typeof leader !== "string" && isOlder(leader)) return true;
		const member = this.#oldest.get(sessionId);
		if (member === undefined || !isOlder(member)) return false;
		// Before and after one look at the other: meanwhile, no other session had this number.
		return [entry, member].every(({ pid, startTime }) => {
			const now = this.#table.entry(pid);
			return (
				typeof now !== "string" &&
				now.sessionId === sessionId &&
				now.startTime === startTime
			);
		});
	}

	/** Looks at the parents, as far as they can only be those that started it. */
	#isStartedByStranger(
		entry: TableEntry,
		marker: Marker,
		isOlder: (entry: TableEntry) => boolean,
	): boolean {
		let child = entry;
		for (const visited = new Set<number>(); !visited.has(child.pid); ) {
			visited.add(child.pid);
			const parent = this.#table.entry(child.parentPid);
			if (typeof parent === "string" || parent.pid <= INIT) return false;
			if (parent.pid === marker.hostPid) return false;
			const isStranger = isOlder(parent)
				? this.#isNoAncestor(parent, marker)
				: this.#carries(parent.pid, marker) === "no";
			if (isStranger) return this.#isStillChild(child);
			if (isOlder(parent)) return false;
			child = parent;
		}
		return false;
	}

	/** An ancestor may have adopted it; those of another host are not known. */
	#isNoAncestor({ pid }: TableEntry, { hostPid }: Marker): boolean {
		return hostPid === this.#self && !this.#ancestors().includes(pid);
	}

	/** Otherwise its parent has ended meanwhile, and another process may have the number. */
	#isStillChild({ pid, parentPid }: TableEntry): boolean {
		const again = this.#table.entry(pid);
		return typeof again !== "string" && again.parentPid === parentPid;
	}

	#carries(pid: number, { runId }: Marker): "yes" | "no" | "unknown" {
		const known = this.#carriers.get(pid);
		if (known !== undefined) return known;
		const carries = this.#table.carries(pid, runId);
		this.#carriers.set(pid, carries);
		return carries;
	}
}

/** One look at everything that runs here. */
export interface ProcessSnapshot {
	/** Zombies included. */
	readonly processes: readonly ProcessFacts[];
	/** The living ones that carry a marker, this process excluded. */
	readonly marked: readonly MarkedProcess[];
	/** The living guards, with the marker of the run that each guards. */
	readonly guards: readonly MarkedProcess[];
}

/** A host that can also end processes which are not its children. */
export interface SnapshotHost extends ProcessHost {
	snapshot(): ProcessSnapshot;
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
