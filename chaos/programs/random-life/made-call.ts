import type { ExecuteOptions, PoolSession, Ran } from "@snakepit/core";

/** One call, and what is known of it. */
export interface MadeCall {
	/** Its own, and what its tool writes into the journal. */
	readonly tag: string;
	readonly tool: string;
	readonly options: ExecuteOptions;
	readonly session: KnownSession | undefined;
	/** Codes that it may fail with, beside those that any call may. */
	readonly mayFail: readonly string[];
	readonly madeAt: number;
	callId: string | undefined;
	/** A code, `ok`, or `left` for a stream that its consumer left. */
	outcome: string | undefined;
	ran: Ran | undefined;
	/** Items that a consumer took. */
	taken: number;
}

/** One session, and what its tools must remember. */
export interface KnownSession {
	readonly session: PoolSession;
	readonly affinity: "strict" | "hint";
	/** Tags of its calls. */
	readonly made: Set<string>;
	/** Those that were answered, in the order of their answers. */
	readonly answered: string[];
	state: "open" | "closed";
}

/** What is wrong with a session as one of its tools found it. */
export function strangeIn(
	session: KnownSession,
	tag: string,
	found: readonly string[],
	answeredBefore: number,
): readonly string[] {
	const strange: string[] = [];
	for (const each of found)
		if (!session.made.has(each)) strange.push(`${each} of another session`);
	if (new Set(found).size !== found.length) strange.push("a tag twice");
	if (!found.includes(tag)) strange.push("not its own tag");
	if (session.affinity === "strict")
		for (const each of session.answered.slice(0, answeredBefore))
			if (!found.includes(each)) strange.push(`no ${each} any more`);
	return strange;
}
