import {
	type Clock,
	isSameProcess,
	type Orphan,
	type ProcessFacts,
	type ProcessIdentity,
	processKey,
	type SystemProcessHost,
} from "@snakepit/core/infrastructure";
import type { Incident } from "@snakepit/core/registry";
import type { ListedRun, ListedWorker } from "./watch-list.ts";

/** A process of a dead run, and how the watchdog found it. */
export interface Doomed extends Orphan {
	readonly knownBy: KnownBy;
	/** When it was found, in milliseconds since the Unix epoch. */
	readonly wallMs: number;
	readonly wholeGroup?: number | undefined;
}

type KnownBy = Extract<
	Incident,
	{ readonly type: "protection.process_killed" }
>["foundBy"];

export interface FirstLookParts {
	readonly host: Pick<SystemProcessHost, "facts" | "descendants">;
	readonly clock: Pick<Clock, "wall">;
}

/**
 * Finds the reported workers of a dead run and their descendants, before anything is killed: a process whose parent has
 * died no longer shows where it descends from.
 *
 * A guard may kill the same processes meanwhile, and a worker may end between two looks. So each process is recorded
 * under its nearest ancestor that is a worker: workers can also descend from the preloaded parent.
 */
export function firstLook(
	run: ListedRun,
	{ host, clock }: FirstLookParts,
): readonly Doomed[] {
	const workers = new Map<string, ListedWorker>();
	for (const worker of run.workers.values())
		workers.set(processKey(worker.identity), worker);
	const found = new Map<string, Doomed>();

	const add = (
		{ identity, groupId }: Pick<ProcessFacts, "identity" | "groupId">,
		worker: ListedWorker,
	): void => {
		const isWorker = isSameProcess(identity, worker.identity);
		const ownGroup = groupId === worker.groupId;
		found.set(processKey(identity), {
			ofRun: run.runId,
			pid: identity.pid,
			identity,
			groupId,
			incarnation: worker.incarnation,
			fingerprint: undefined,
			foundBy: ownGroup ? "group" : "marker",
			ownGroup,
			wholeGroup: ownGroup ? worker.groupId : undefined,
			knownBy: isWorker ? "reported" : ownGroup ? "group" : "descent",
			wallMs: clock.wall(),
		});
	};
	const workerOf = (identity: ProcessIdentity): ListedWorker | undefined => {
		const key = processKey(identity);
		const incarnation = found.get(key)?.incarnation ?? "";
		return workers.get(key) ?? run.workers.get(incarnation);
	};

	for (const worker of run.workers.values()) {
		const facts = host.facts(worker.identity.pid);
		// Another process now has its pid, or its parent has not reaped it yet.
		if (
			facts === undefined ||
			!isSameProcess(facts.identity, worker.identity) ||
			facts.condition === "zombie"
		)
			continue;
		add(facts, worker);
		// Parents come before their children.
		for (const each of host.descendants(worker.identity))
			if (!found.has(processKey(each.identity)))
				add(each, workerOf(each.identity) ?? workerOf(each.parent) ?? worker);
	}
	return [...found.values()];
}
