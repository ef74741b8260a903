import type { CensusHost } from "../os/census.ts";
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
	readonly host: CensusHost;
	readonly killer: ProcessKiller;
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

/** Ends what is left of all these runs in one go, and looks again until nothing is left: the grace passes once. */
export async function endOrphans(
	{ host, killer }: EndOrphansParts,
	runs: readonly DeadRun[],
	{ limits, admits }: EndOrphansRule,
): Promise<OrphanEnds> {
	if (runs.length === 0) return { results: [], spared: [] };
	let spared: SparedProcess[] = [];
	// Spared ones too: a group is recognised by any member that was seen before.
	const known: Orphan[] = [];
	const find = async (): Promise<OrphanTarget[]> => {
		const census = host.census();
		const targets: OrphanTarget[] = [];
		const heldGroups = new Set<number>();
		spared = [];
		for (const dead of runs) {
			const found = findOrphans(dead, census, known, (...number) =>
				host.holdsNumber(...number),
			);
			spared.push(...found.spared);
			known.push(...found.orphans);
			for (const orphan of found.orphans) {
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
	const results = await killer.end<OrphanTarget>(find, limits);
	return { results, spared };
}
