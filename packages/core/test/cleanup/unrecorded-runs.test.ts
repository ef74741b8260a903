import { expect, test } from "vitest";
import {
	findUnrecordedRuns,
	type UnrecordedRuns,
	type UnrecordedSearch,
} from "../../src/cleanup/reaper.ts";
import {
	markerOf,
	type ProcessIdentity,
	type RunId,
} from "../../src/contract/identity.ts";
import type { MarkedProcess } from "../../src/contract/world.ts";

const self: ProcessIdentity = {
	...{ machineId: "m", bootId: "b", pidNamespace: "n" },
	...{ pid: 100, startTime: "1000" },
};
const owner: ProcessIdentity = { ...self, pid: 7, startTime: "70" };
const RUN = "abcdefg" as RunId;

/** A process that a run of this owner has started. */
function marked(
	pid: number,
	host: ProcessIdentity = owner,
	runId: RunId = RUN,
	directoryKey = "d",
): MarkedProcess {
	return {
		identity: { ...self, pid, startTime: `${pid}` },
		groupId: pid,
		marker: markerOf(runId, host, directoryKey),
		...{ incarnation: `${runId}-1`, name: "any" },
	};
}

function search(
	processes: readonly MarkedProcess[],
	fields: Partial<UnrecordedSearch> = {},
): UnrecordedRuns {
	return findUnrecordedRuns({
		...{ marked: processes, directoryKey: "d", self },
		isKnown: () => false,
		observe: () => "gone",
		...fields,
	});
}

test("a run whose owner is gone is dead, however many processes it left", () => {
	const other = "bbbbbbb" as RunId;
	const { dead, spared } = search([
		...[marked(11), marked(12), marked(13, owner, other)],
	]);
	expect(dead.map((run) => run.dead.ofRun)).toEqual([RUN, other]);
	expect(dead[0]?.dead.owns(marked(14).marker)).toBe(true);
	expect(dead[0]?.dead.owns(marked(14, owner, other).marker)).toBe(false);
	expect(spared).toEqual([]);
});

test("a run of another directory, or of which there is a record, is none of these", () => {
	const elsewhere = marked(11, owner, RUN, "another");
	expect(search([elsewhere])).toEqual({ dead: [], spared: [] });
	const asked: string[] = [];
	const isKnown: UnrecordedSearch["isKnown"] = ({ runId, ownerPid }) => {
		asked.push(`${runId} of ${ownerPid}`);
		return true;
	};
	expect(search([marked(11)], { isKnown })).toEqual({ dead: [], spared: [] });
	expect(asked).toEqual([`${RUN} of 7`]);
});

test("a process whose owner cannot be judged from here is spared and said, one whose owner lives is left to it", () => {
	const foreign = { ...owner, pidNamespace: "n0" };
	expect(search([marked(11, foreign)])).toEqual({
		dead: [],
		spared: [{ ofRun: RUN, pid: 11, reason: "other_pid_namespace" }],
	});
	expect(search([marked(11)], { observe: () => "unknown" }).spared).toEqual([
		{ ofRun: RUN, pid: 11, reason: "identity_unknown" },
	]);
	const pids: number[] = [];
	const observe = (pid: number): ProcessIdentity => {
		pids.push(pid);
		return owner;
	};
	expect(search([marked(11)], { observe })).toEqual({ dead: [], spared: [] });
	expect(pids).toEqual([7]);
	const before = { ...owner, bootId: "b0" };
	expect(search([marked(11, before)])).toEqual({ dead: [], spared: [] });
});
