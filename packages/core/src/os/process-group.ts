import { isSameProcess, type ProcessIdentity } from "../identity.ts";
import type { ProcessFacts } from "../world.ts";

/**
 * Knows whether a group's number still means the group whose leader we started.
 *
 * The kernel gives a number to nobody else while a member lives. So as long as,
 * look after look, one member of the last look is still there, every member
 * belongs to it; once a look finds none, the number is a stranger's for ever.
 */
export class ProcessGroup {
	readonly id: number;
	#known: readonly ProcessIdentity[];

	/** @param members the members at the moment of the leader's end. */
	constructor(id: number, members: readonly ProcessFacts[]) {
		this.id = id;
		this.#known = members.map((member) => member.identity);
	}

	/** Takes the members of a fresh look, and tells whether they are ours. */
	stillOurs(members: readonly ProcessFacts[]): boolean {
		const seen = members.map((member) => member.identity);
		const proven = seen.some((identity) =>
			this.#known.some((known) => isSameProcess(known, identity)),
		);
		this.#known = proven ? seen : [];
		return proven;
	}
}
