import { expect, test } from "vitest";
import {
	type DeadRun,
	findOrphans,
	type Orphan,
} from "../../src/cleanup/orphan-search.ts";
import {
	findUnrecordedRuns,
	type UnrecordedRuns,
	type UnrecordedSearch,
} from "../../src/cleanup/reaper.ts";
import { judgeOwner } from "../../src/cleanup/run-claim.ts";
import {
	markerOf,
	type ProcessIdentity,
	type RunId,
} from "../../src/contract/identity.ts";
import type { MarkedProcess, ProcessFacts } from "../../src/contract/world.ts";
import type {
	ProcessSnapshot,
	SnapshotHost,
} from "../../src/os/descendants.ts";
import { workerRow } from "./crafted-run.ts";

const RUN = "abcdefg" as RunId;
const base = { machineId: "m", bootId: "b", pidNamespace: "n" };
const host: ProcessIdentity = { ...base, pid: 2, startTime: "2" };

function identity(pid: number, startTime = String(pid)): ProcessIdentity {
	return { ...base, pid, startTime };
}

function process_(
	pid: number,
	groupId: number,
	fields: Partial<ProcessFacts> = {},
): ProcessFacts {
	return {
		identity: identity(pid),
		groupId,
		condition: "alive",
		cpuTimeMs: 0,
		residentBytes: 0,
		...fields,
	};
}

function mark(facts: ProcessFacts, incarnation?: string): MarkedProcess {
	const marker = markerOf(RUN, host, "d");
	return { ...facts, marker, incarnation, name: "any" };
}

const dead: DeadRun = {
	ofRun: RUN,
	owns: (marker) => marker.runId === RUN,
	workers: [
		workerRow(RUN, { identity: identity(10), groupId: 10 }),
		workerRow(RUN, { incarnation: `${RUN}-2`, status: "reserved" }),
	],
};

/** Pids by how they were found, and those that were spared. */
function found(
	snapshot: Omit<ProcessSnapshot, "guards">,
	known: readonly Orphan[] = [],
	holdsNumber: SnapshotHost["holdsNumber"] = () => true,
): object {
	const { orphans, spared } = findOrphans(dead, snapshot, known, holdsNumber);
	return {
		...Object.fromEntries(
			orphans.map(({ pid, foundBy, ownGroup }) => [
				pid,
				`${foundBy}${ownGroup ? ", own group" : ""}`,
			]),
		),
		spared: spared.map(({ pid, reason }) => `${pid} ${reason}`),
	};
}

test("a recorded worker is found with all of its group, marked or not", () => {
	const processes = [
		process_(10, 10),
		process_(11, 10),
		process_(12, 10, { condition: "zombie" }),
		process_(13, 13),
	];
	expect(found({ processes, marked: [] })).toEqual({
		10: "ledger, own group",
		11: "group, own group",
		spared: [],
	});
});

test("a dead leader that was not reaped yet still holds its group's number", () => {
	const processes = [
		process_(10, 10, { condition: "zombie" }),
		process_(11, 10),
	];
	expect(found({ processes, marked: [] })).toEqual({
		11: "group, own group",
		spared: [],
	});
});

test("a reused pid belongs to a foreign process, and so does the group with its number", () => {
	const processes = [
		process_(10, 10, { identity: identity(10, "99") }),
		process_(11, 10),
	];
	expect(found({ processes, marked: [] })).toEqual({
		spared: ["10 identity_unknown", "11 identity_unknown"],
	});
});

test("a group whose leader is gone is ours while a member has our marker", () => {
	const marked = process_(11, 10);
	const processes = [marked, process_(12, 10)];
	expect(found({ processes, marked: [mark(marked)] })).toEqual({
		11: "group, own group",
		12: "group, own group",
		spared: [],
	});
});

test("a group whose leader is gone is ours while a member is known from the look before", () => {
	const before = findOrphans(
		dead,
		{ processes: [process_(10, 10), process_(11, 10)], marked: [] },
		[],
		() => true,
	);
	const processes = [process_(11, 10), process_(12, 10)];
	expect(found({ processes, marked: [] }, before.orphans)).toEqual({
		11: "group, own group",
		12: "group, own group",
		spared: [],
	});
});

test.each([
	["leader", process_(10, 10), []],
	["marked member", process_(12, 10), [mark(process_(12, 10))]],
])(
	"a %s that gave the number away while everybody was listed proves nobody beside itself",
	(_what, prover, marked) => {
		const { pid } = prover.identity;
		expect(
			found({ processes: [prover, process_(11, 10)], marked }, [], () => false),
		).toEqual({
			[pid]: pid === 10 ? "ledger, own group" : "marker",
			spared: ["11 identity_unknown"],
		});
	},
);

test("a worker that was found in another group than recorded does not vouch for that group", () => {
	expect(found({ processes: [process_(10, 9)], marked: [] })).toEqual({
		10: "ledger",
		spared: [],
	});
});

test("what carries the marker is found anywhere, and returned with the row that it descends from", () => {
	const reserved = process_(20, 20);
	const unknown = process_(21, 21);
	const snapshot = {
		processes: [reserved, unknown],
		marked: [mark(reserved, `${RUN}-2`), mark(unknown)],
	};
	expect(found(snapshot)).toEqual({ 20: "marker", 21: "marker", spared: [] });
	expect(findOrphans(dead, snapshot, [], () => true).orphans).toMatchObject([
		{ incarnation: `${RUN}-2`, fingerprint: "sleep#0123" },
		{ incarnation: undefined, fingerprint: undefined },
	]);
});

test("the marker of another run, or of another owner with the same run id, says nothing", () => {
	const process = process_(20, 20);
	const other = {
		...mark(process),
		marker: markerOf("1234567" as RunId, host, "d"),
	};
	expect(found({ processes: [process], marked: [other] })).toEqual({
		spared: [],
	});
});

const self: ProcessIdentity = {
	machineId: "m",
	bootId: "b",
	pidNamespace: "n",
	pid: 100,
	startTime: "1000",
};
const owner: ProcessIdentity = { ...self, pid: 7, startTime: "70" };
const reused: ProcessIdentity = { ...owner, startTime: "71" };

test.each([
	["the very process lives", owner, owner, { spared: "owner_alive" }],
	["its pid is free", owner, "gone", "dead"],
	["its pid is another's by now", owner, reused, "dead"],
	["its pid cannot be read", owner, "unknown", { spared: "identity_unknown" }],
	[
		"another boot, whatever has its pid now",
		{ ...owner, bootId: "b0" },
		owner,
		"dead_with_its_boot",
	],
	[
		"another pid namespace, whatever has its pid here",
		{ ...owner, pidNamespace: "n0" },
		"gone",
		{ spared: "other_pid_namespace" },
	],
	[
		"another machine, also with another boot",
		{ ...owner, machineId: "m0", bootId: "b0" },
		"gone",
		{ spared: "other_machine" },
	],
] as const)("%s", (_, recorded, observed, verdict) => {
	expect(judgeOwner(recorded, self, observed)).toEqual(verdict);
});

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
