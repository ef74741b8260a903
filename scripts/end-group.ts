import { readFileSync } from "node:fs";
import {
	isSameProcess,
	judgeGroup,
	type ProcessIdentity,
} from "../packages/core/src/contract/identity.ts";
import type { CensusHost } from "../packages/core/src/os/census.ts";
import { TEST, testMark } from "./test-mark.ts";

type Machine = Pick<CensusHost, "facts" | "members" | "signal" | "signalGroup">;

/**
 * Ends a process that a test started and the group that it leads.
 *
 * The group is killed as one: a member that forks while the others are listed would
 * leave one that is not in the list. Where the leader is gone, a member proves that
 * the group's number is not another's by now: one of `known`, or one that carries the
 * mark of the test that runs.
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
		({ identity }) =>
			known.some((each) => isSameProcess(each, identity)) ||
			isOfThisTest(identity.pid),
	);
	if (verdict.whose === "ours")
		machine.signalGroup(pid, verdict.witness.identity, "SIGKILL");
	machine.signal(leader, "SIGKILL");
}

/** Whether the environment of a process names this run of tests and this test. */
function isOfThisTest(pid: number): boolean {
	const mark = testMark();
	if (mark[TEST] === undefined) return false;
	try {
		const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
		return Object.entries(mark).every(([name, value]) =>
			variables.includes(`${name}=${value}`),
		);
	} catch {
		return false; // It has ended, or this system has no such file.
	}
}
