import type { SparedReason } from "../contract/events.ts";
import type { Observation, ProcessIdentity } from "../contract/identity.ts";
import type { MarkedProcess } from "../contract/world.ts";
import {
	formatRunName,
	type RunName,
	runNameOf,
} from "../registry/run-name.ts";
import type { DeadRun, SparedProcess } from "./orphan-search.ts";
import { judgeOwner, ownerOf, ownership } from "./run-owner.ts";

/** A dead run that is known by the markers of its processes alone. */
export interface UnrecordedRun {
	readonly name: RunName;
	readonly dead: DeadRun;
}

export interface UnrecordedRuns {
	readonly dead: readonly UnrecordedRun[];
	/** Processes whose owner cannot be judged from here. */
	readonly spared: readonly SparedProcess[];
}

export interface UnrecordedSearch {
	readonly marked: readonly MarkedProcess[];
	/** Names the data directory in which this start cleans up. */
	readonly directoryKey: string;
	readonly self: ProcessIdentity;
	/** Whether the record of a run decides already what becomes of it. */
	readonly isKnown: (name: RunName) => boolean;
	readonly observe: (pid: number) => Observation;
}

/** Reasons to spare a process without a record that are worth an event: a living owner takes care of its own. */
const REPORTED: ReadonlySet<SparedReason> = new Set([
	"other_pid_namespace",
	"identity_unknown",
]);

/**
 * Finds the runs of one data directory that left processes and no record that
 * could be used: their files were removed, or cannot be read or locked. The
 * marker names the owner; one that is provably gone has left orphans.
 */
export function findUnrecordedRuns({
	marked,
	directoryKey,
	self,
	isKnown,
	observe,
}: UnrecordedSearch): UnrecordedRuns {
	const dead = new Map<string, UnrecordedRun>();
	const spared: SparedProcess[] = [];
	for (const { marker, identity } of marked) {
		if (marker.directoryKey !== directoryKey) continue;
		const owner = ownerOf(marker, self);
		const name = runNameOf(marker.runId, owner);
		const key = formatRunName(name);
		if (dead.has(key) || isKnown(name)) continue;
		const verdict = judgeOwner(owner, self, observe(owner.pid));
		if (verdict === "dead") {
			const owns = ownership(name, self, directoryKey);
			dead.set(key, {
				name,
				dead: { ofRun: marker.runId, owns, workers: [] },
			});
			continue;
		}
		// A process that lives carries no true marker of another boot.
		if (verdict === "dead_with_its_boot" || !REPORTED.has(verdict.spared))
			continue;
		const { pid } = identity;
		spared.push({ ofRun: marker.runId, pid, reason: verdict.spared });
	}
	return { dead: [...dead.values()], spared };
}
