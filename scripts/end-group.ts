import {
	isSameProcess,
	type ProcessIdentity,
} from "../packages/core/src/identity.ts";
import type { CensusHost } from "../packages/core/src/os/census.ts";

/**
 * Ends a process that a test started and, as long as it leads one, its group.
 *
 * The group is killed as one: a member that forks while the others are listed would
 * leave one that nobody has heard of.
 */
export function endGroup(
	machine: Pick<CensusHost, "facts" | "members" | "signal" | "signalGroup">,
	leader: ProcessIdentity,
): void {
	const { pid } = leader;
	const seen = machine.facts(pid);
	// Nobody else gets the number of a group that has members, but one that had none may have.
	if (seen === undefined || isSameProcess(seen.identity, leader))
		for (const { identity } of machine.members(pid))
			machine.signalGroup(pid, identity, "SIGKILL");
	machine.signal(leader, "SIGKILL");
}
