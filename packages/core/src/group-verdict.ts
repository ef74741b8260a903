import { isSameProcess, type ProcessIdentity } from "./identity.ts";

/** A process that holds a group's number: it has the number as its pid, or is a member of the group. */
export interface GroupHolder {
	readonly identity: ProcessIdentity;
}

/** Whose group has a number now. */
export type GroupVerdict<Holder extends GroupHolder> =
	/** The group of the leader that is asked about: `witness` proves it, and is read again before a signal is sent. */
	| { readonly whose: "ours"; readonly witness: Holder }
	/** Another process has the leader's pid: the number was given away, and no member is ours. */
	| { readonly whose: "anothers" }
	/** The leader is gone, and nothing proves that one of the others belonged to it. */
	| { readonly whose: "unknown" }
	/** No process holds the number. */
	| { readonly whose: "nobodys" };

/**
 * Decides whether the group with a leader's number is still that leader's.
 *
 * The kernel gives a number to no new process while any process has it as its
 * pid, group or session. So one holder that is proven proves every member, and
 * one process that has the leader's pid and another start time disproves all.
 *
 * Source: alloc_pid and free_pid in kernel/pid.c of Linux.
 *
 * @param holders every process that holds the number at one look, dead ones that were not reaped included.
 * @param isProven whether a holder that is not the leader provably belongs to the leader's group.
 */
export function judgeGroup<Holder extends GroupHolder>(
	leader: ProcessIdentity,
	holders: readonly Holder[],
	isProven: (holder: Holder) => boolean,
): GroupVerdict<Holder> {
	const atItsPid = holders.find(({ identity }) => identity.pid === leader.pid);
	if (atItsPid !== undefined)
		return isSameProcess(atItsPid.identity, leader)
			? { whose: "ours", witness: atItsPid }
			: { whose: "anothers" };
	const witness = holders.find(isProven);
	if (witness !== undefined) return { whose: "ours", witness };
	return { whose: holders.length === 0 ? "nobodys" : "unknown" };
}
