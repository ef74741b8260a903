import type { Clock } from "../contract/clock.ts";
import {
	isSameProcess,
	type ProcessIdentity,
	type RunId,
} from "../contract/identity.ts";
import { pause } from "../deadline.ts";
import type { SnapshotHost } from "../os/descendants.ts";
import { GuardTree } from "../os/guard-tree.ts";
import {
	type DeadRun,
	findOrphans,
	type Orphan,
	type SparedProcess,
} from "./orphan-search.ts";
import type {
	KillLimits,
	KillResult,
	KillTarget,
	ProcessKiller,
} from "./process-killer.ts";

export interface EndOrphansParts {
	readonly host: SnapshotHost;
	readonly killer: ProcessKiller;
	readonly clock: Clock;
}

export interface EndOrphansRule {
	readonly limits: KillLimits;
	/** Whether an orphan shall be ended. */
	readonly admits: (orphan: Orphan) => Promise<boolean>;
}

/** What became of the orphans of some runs. */
export interface OrphanEnds {
	readonly results: readonly KillResult<Orphan>[];
	readonly spared: readonly SparedProcess[];
}

type OrphanTarget = Orphan & KillTarget;

/** A guard of a dead run ends what is left below it within milliseconds. One that does not is held by something. */
const GUARDS_MS = 2_000;
const PAUSE_MS = 5;

/**
 * Ends what is left of all these runs in one go, and looks again until nothing is left: the grace passes once.
 *
 * Guards that still live are continued and have some time. What is below guards that cannot act, whatever it is, is
 * ended like the rest; they themselves come last, since what their workers left is found by descent from them alone.
 */
export async function endOrphans(
	{ host, killer, clock }: EndOrphansParts,
	runs: readonly DeadRun[],
	{ limits, admits }: EndOrphansRule,
): Promise<OrphanEnds> {
	if (runs.length === 0) return { results: [], spared: [] };
	const trees = await idleGuards(host, clock, runs);
	let spared: SparedProcess[] = [];
	// Spared ones too: a group is recognised by any member that was seen before.
	const known: Orphan[] = [];
	const find = async (): Promise<OrphanTarget[]> => {
		const snapshot = host.snapshot();
		const targets: OrphanTarget[] = [];
		const heldGroups = new Set<number>();
		spared = [];
		for (const dead of runs) {
			const result = findOrphans(dead, snapshot, known, (...number) =>
				host.holdsNumber(...number),
			);
			spared.push(...result.spared);
			const below = belowGuards(dead, trees.get(dead), result.orphans);
			const orphans = [...result.orphans, ...below];
			known.push(...orphans);
			for (const orphan of orphans) {
				if (await admits(orphan)) {
					targets.push(orphan);
					continue;
				}
				const { ofRun, pid, groupId } = orphan;
				spared.push({ ofRun, pid, reason: "strategy" });
				heldGroups.add(groupId);
			}
		}
		return targets.map((target) =>
			target.ownGroup && !heldGroups.has(target.groupId)
				? { ...target, wholeGroup: target.groupId }
				: target,
		);
	};
	const results = [...(await killer.end<OrphanTarget>(find, limits))];
	// Else something was spared, and would not be found any more.
	for (const [dead, tree] of trees)
		if (tree.below().length === 0)
			results.push(
				...(await killer.end(() => guardsOf(dead, tree), {
					...limits,
					graceMs: 0,
				})),
			);
	return { results, spared };
}

/** The guards of dead runs that still live after some time in which they could have ended by themselves. */
async function idleGuards(
	host: SnapshotHost,
	clock: Clock,
	runs: readonly DeadRun[],
): Promise<ReadonlyMap<DeadRun, GuardTree>> {
	const { guards } = host.snapshot();
	const trees = new Map<DeadRun, GuardTree>();
	for (const dead of runs) {
		const own = guards.filter(({ marker }) => dead.owns(marker));
		const identities = own.map(({ identity }) => identity);
		if (own.length > 0) trees.set(dead, new GuardTree(host, identities));
	}
	const until = clock.now() + GUARDS_MS;
	for (;;) {
		for (const [dead, tree] of trees) {
			tree.wake();
			if (tree.guards().length === 0) trees.delete(dead);
		}
		if (trees.size === 0 || clock.now() >= until) return trees;
		await pause(clock, PAUSE_MS);
	}
}

/** What lives below guards that cannot act, and was not found in another way. */
function belowGuards(
	{ ofRun }: DeadRun,
	tree: GuardTree | undefined,
	found: readonly Orphan[],
): readonly Orphan[] {
	const below = tree?.below() ?? [];
	return below
		.filter(
			({ identity }) =>
				!found.some((orphan) => isSameProcess(orphan.identity, identity)),
		)
		.map(({ identity, groupId }) => byDescent(ofRun, identity, groupId));
}

function guardsOf({ ofRun }: DeadRun, tree: GuardTree): readonly Orphan[] {
	return tree
		.guards()
		.map((identity) => byDescent(ofRun, identity, identity.pid));
}

function byDescent(
	ofRun: RunId,
	identity: ProcessIdentity,
	groupId: number,
): Orphan {
	return {
		...{ ofRun, pid: identity.pid, identity, groupId, ownGroup: false },
		...{ foundBy: "descent", incarnation: undefined, fingerprint: undefined },
	};
}
