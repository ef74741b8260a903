import type { FoundOrphan } from "../contract/cleanup-strategy.ts";
import type { SparedReason } from "../contract/events.ts";
import {
	isSameProcess,
	judgeGroup,
	type Marker,
	type ProcessIdentity,
} from "../contract/identity.ts";
import type { WorkerRecord } from "../contract/process-registry.ts";
import type { ProcessFacts } from "../contract/world.ts";
import type { ProcessSnapshot, SnapshotHost } from "../os/descendants.ts";

/** An orphan, with its identity. */
export interface Orphan extends FoundOrphan {
	readonly identity: ProcessIdentity;
	readonly groupId: number;
	/** Whether everything in its group is known to belong to the dead run. */
	readonly ownGroup: boolean;
}

/** A process that looks like an orphan and is left alone. */
export interface SparedProcess extends Pick<FoundOrphan, "ofRun" | "pid"> {
	readonly reason: SparedReason;
}

/** What a search needs to know of a worker. */
export type SoughtWorker = Pick<
	WorkerRecord,
	"incarnation" | "identity" | "groupId" | "fingerprint"
> &
	Partial<Pick<WorkerRecord, "lifeline">>;

/** A run whose owner is provably gone. */
export interface DeadRun extends Pick<FoundOrphan, "ofRun"> {
	/** Whether a marker names this very run and its owner. */
	readonly owns: (marker: Marker) => boolean;
	/** Those that are not known to have ended. */
	readonly workers: readonly SoughtWorker[];
}

export interface SearchResult {
	readonly orphans: readonly Orphan[];
	readonly spared: readonly SparedProcess[];
}

/**
 * Finds what a dead run has left behind, in one look at the process table:
 * recorded workers that are still the same process, the groups they lead, and
 * whatever carries the run's marker.
 *
 * A group whose leader is gone may have a stranger's number by now, see
 * {@link judgeGroup}. A member is proven from the last look (`known`), or by its
 * marker. Where none is, all members are spared.
 *
 * @param holdsNumber asked of the process that proves a group, see {@link SnapshotHost.holdsNumber}.
 */
export function findOrphans(
	run: DeadRun,
	snapshot: Seen,
	known: readonly Orphan[],
	holdsNumber: SnapshotHost["holdsNumber"],
): SearchResult {
	const marked = snapshot.marked.filter(({ marker }) => run.owns(marker));
	const proven = [...known, ...marked].map(({ identity }) => identity);
	const orphans = new Map<number, Orphan>();
	const spared: SparedProcess[] = [];
	const add = (
		{ identity, groupId }: Pick<ProcessFacts, "identity" | "groupId">,
		orphan: Omit<Orphan, "ofRun" | "pid" | "identity" | "groupId">,
	): void => {
		const { pid } = identity;
		if (orphans.has(pid)) return;
		orphans.set(pid, { ...orphan, ofRun: run.ofRun, pid, identity, groupId });
	};

	for (const worker of run.workers) {
		const { identity, incarnation, fingerprint } = worker;
		if (identity === undefined) continue;
		const leader = snapshot.processes.find((process) =>
			isSameProcess(process.identity, identity),
		);
		const facts = { incarnation, fingerprint };
		if (leader?.condition === "alive") {
			const ownGroup = leader.groupId === worker.groupId;
			add(leader, { ...facts, foundBy: "ledger", ownGroup });
		}
		const members = snapshot.processes.filter(
			(process) =>
				process.groupId === worker.groupId &&
				process.condition === "alive" &&
				process !== leader,
		);
		const ours = isLedBy(identity, snapshot, proven, holdsNumber);
		for (const member of members) {
			if (ours) add(member, { ...facts, foundBy: "group", ownGroup: true });
			else if (!isAmong(proven, member.identity))
				spared.push({
					ofRun: run.ofRun,
					pid: member.identity.pid,
					reason: "identity_unknown",
				});
		}
	}
	for (const process of marked) {
		const { incarnation } = process;
		const row = run.workers.find(
			(worker) => worker.incarnation === incarnation,
		);
		const fingerprint = row?.fingerprint;
		const facts = { incarnation, fingerprint };
		add(process, { ...facts, foundBy: "marker", ownGroup: false });
	}
	return { orphans: [...orphans.values()], spared };
}

/** The guards of a run are ended after everything else: see `endOrphans`. */
type Seen = Omit<ProcessSnapshot, "guards">;

/** Whether the group with a worker's number is that worker's. */
function isLedBy(
	leader: ProcessIdentity,
	{ processes }: Seen,
	proven: readonly ProcessIdentity[],
	holdsNumber: SnapshotHost["holdsNumber"],
): boolean {
	const groupId = leader.pid;
	const verdict = judgeGroup(
		leader,
		processes.filter(
			(process) =>
				process.groupId === groupId || process.identity.pid === groupId,
		),
		({ identity }) => isAmong(proven, identity),
	);
	// Checked after the snapshot, which takes some time: until then, the number belonged to no other process.
	return (
		verdict.whose === "ours" && holdsNumber(groupId, verdict.prover.identity)
	);
}

function isAmong(
	identities: readonly ProcessIdentity[],
	identity: ProcessIdentity,
): boolean {
	return identities.some((each) => isSameProcess(each, identity));
}
