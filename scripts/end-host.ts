import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import {
	isSameProcess,
	judgeGroup,
	type ProcessIdentity,
} from "../packages/core/src/contract/identity.ts";
import type { SnapshotHost } from "../packages/core/src/os/descendants.ts";
import { TEST, testMark } from "./test-mark.ts";

type Machine = Pick<
	SnapshotHost,
	"facts" | "members" | "signal" | "signalGroup"
>;

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
		machine.signalGroup(pid, verdict.prover.identity, "SIGKILL");
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

const LOOK_MS = 20;
const DEADLINE_MS = 60_000;

/**
 * Ends a host program that a test started, and then every worker of it, and waits
 * until they are gone: until then they may write into its directories. A test that
 * fails early knows none of them, so they are found by the marker, which names the host.
 *
 * @param self the host, observed after its start; why it could not be, where that failed.
 */
export async function endHost(
	machine: SnapshotHost,
	child: ChildProcess,
	self: ProcessIdentity | string,
): Promise<void> {
	// Only after its end there is no further worker.
	if (child.exitCode === null && child.signalCode === null) {
		const ended = once(child, "exit");
		child.kill("SIGKILL");
		await ended;
	}
	if (typeof self === "string") return;
	const deadline = performance.now() + DEADLINE_MS;
	while (true) {
		const left = startedBy(machine, self);
		if (left.length === 0) return;
		if (performance.now() > deadline)
			throw new Error(
				`Processes of a host that was killed do not end: ${left.map(({ pid }) => pid).join(", ")}.`,
			);
		for (const identity of left) endGroup(machine, identity);
		await pause(LOOK_MS);
	}
}

function startedBy(
	machine: SnapshotHost,
	self: ProcessIdentity,
): readonly ProcessIdentity[] {
	return machine
		.marked()
		.filter(({ marker }) =>
			isSameProcess(
				{ ...self, pid: marker.hostPid, startTime: marker.hostStartTime },
				self,
			),
		)
		.map(({ identity }) => identity);
}
