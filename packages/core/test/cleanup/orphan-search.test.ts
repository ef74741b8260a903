import { expect, test } from "vitest";
import {
	type DeadRun,
	findOrphans,
	type Orphan,
} from "../../src/cleanup/orphan-search.ts";
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
