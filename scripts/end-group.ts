import { judgeGroup } from "../packages/core/src/group-verdict.ts";
import {
	isSameProcess,
	type ProcessIdentity,
} from "../packages/core/src/identity.ts";
import type { CensusHost } from "../packages/core/src/os/census.ts";

type Machine = Pick<CensusHost, "facts" | "members" | "signal" | "signalGroup">;

/**
 * Ends a process that a test started and the group that it leads.
 *
 * The group is killed as one: a member that forks while the others are listed would
 * leave one that nobody has heard of. Where the leader is gone, `known` members prove
 * that the group's number is not another's by now.
 */
export function endGroup(
	machine: Machine,
	leader: ProcessIdentity,
	known: readonly ProcessIdentity[] = [],
): void {
	const { pid } = leader;
	const atItsPid = machine.facts(pid);
	const verdict = judgeGroup(
		leader,
		[...(atItsPid === undefined ? [] : [atItsPid]), ...machine.members(pid)],
		({ identity }) => known.some((each) => isSameProcess(each, identity)),
	);
	if (verdict.whose === "ours")
		machine.signalGroup(pid, verdict.witness.identity, "SIGKILL");
	machine.signal(leader, "SIGKILL");
}
