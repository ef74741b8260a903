import { expect, test } from "vitest";
import type { Marker, RunId } from "../../src/contract/identity.ts";
import { Descent } from "../../src/os/descendants.ts";
import {
	carriesRun,
	type ProcessTable,
	type TableEntry,
} from "../../src/os/process-table.ts";

const RUN = "abc1234" as RunId;
const HOST = 50;
const marker: Marker = {
	runId: RUN,
	directoryKey: "d",
	...{ bootId: "b", pidNamespace: "1" },
	hostPid: HOST,
	hostStartTime: "500",
};

/** One process: its parent, when it started, its session, and whether it carries the marker. */
type Known = readonly [
	parentPid: number,
	startedAt: number | undefined,
	sessionId?: number,
	carries?: "yes" | "no" | "unknown",
];

/** 1 is init, 2 a daemon older than the host, 3 the host's shell. */
const SYSTEM: Readonly<Record<number, Known>> = {
	1: [0, 0, 1, "no"],
	2: [1, 100, 2, "no"],
	3: [1, 200, 3, "no"],
};

function tableOf(
	processes: Readonly<Record<number, Known>>,
): Pick<ProcessTable, "entry" | "entries" | "carries"> {
	const all: Readonly<Record<number, Known>> = { ...SYSTEM, ...processes };
	const entry = (pid: number): TableEntry | "gone" => {
		const known = all[pid];
		if (known === undefined) return "gone";
		const [parentPid, startedAt, sessionId = pid] = known;
		const startTime = String(startedAt);
		return { pid, parentPid, startedAt, startTime, sessionId } as TableEntry;
	};
	return {
		entry,
		entries: () => Object.keys(all).map((pid) => entry(+pid) as TableEntry),
		carries: (pid) => all[pid]?.[3] ?? "unknown",
	};
}

/** Whether it is proven that process 99 is none of ours. */
function isDisproved(
	processes: Readonly<Record<number, Known>>,
	self = 1_000,
): boolean {
	const table = tableOf(processes) as ProcessTable;
	const entry = table.entry(99) as TableEntry;
	const ancestors = () => [3, 1, 0];
	const descent = new Descent(table, table.entries(), self, ancestors);
	return descent.isDisproved(entry, marker);
}

test.each<[string, Readonly<Record<number, Known>>]>([
	["a worker", { 50: [3, 500], 99: [50, 600] }],
	["a worker whose host is gone", { 99: [1, 600] }],
	["a child of a worker", { 60: [50, 600, 60, "yes"], 99: [60, 700, 60] }],
	["an orphan in the session of a worker that is gone", { 99: [1, 700, 60] }],
	["an orphan that a system without session ids shows", { 99: [1, undefined] }],
	["what a guard adopted", { 60: [50, 510, 60, "yes"], 99: [60, 700] }],
	[
		"below one that changed its title",
		{ 60: [1, 600, 60, "unknown"], 99: [60, 700, 60] },
	],
	["what a daemon older than the host adopted, or started", { 99: [2, 700] }],
	["of the same tick as its host", { 99: [1, 500] }],
	["whose parents are a circle", { 60: [99, 700], 99: [60, 700] }],
	["whose parent is gone", { 99: [77, 700] }],
])("nothing proves that it is a stranger: %s", (_, processes) => {
	expect(isDisproved(processes)).toBe(false);
});

test.each<[string, Readonly<Record<number, Known>>]>([
	["older than the host", { 99: [1, 400] }],
	["in a session older than the host", { 99: [1, 600, 3] }],
	[
		"in a session that has a member older than the host, and whose first process is gone",
		{ 60: [1, 400, 98], 99: [1, 600, 98] },
	],
	[
		"started by a younger program without the marker",
		{ 60: [1, 600, 60, "no"], 99: [60, 700, 60] },
	],
	[
		"started by a child of that",
		{
			60: [2, 600, 60, "no"],
			61: [60, 700, 60, "yes"],
			99: [61, 800, 60],
		},
	],
])("a stranger is: %s", (_, processes) => {
	expect(isDisproved(processes)).toBe(true);
});

test("the host itself knows its ancestors: no other older process adopts what its workers leave", () => {
	expect(isDisproved({ 99: [2, 700] }, HOST)).toBe(true);
	expect(isDisproved({ 99: [3, 700] }, HOST)).toBe(false);
});

test("a parent that ended while it was looked at proves nothing", () => {
	const processes = { 60: [1, 600, 60, "no"], 99: [60, 700] } as const;
	const table = tableOf(processes) as ProcessTable;
	const entry = table.entry(99) as TableEntry;
	const adopted = tableOf({ ...processes, 99: [1, 700] }) as ProcessTable;
	const changing = {
		...table,
		entry: (pid: number) => (pid === 99 ? adopted : table).entry(pid),
	} as ProcessTable;
	const descent = new Descent(changing, table.entries(), 1_000, () => []);
	expect(descent.isDisproved(entry, marker)).toBe(false);
});

test("an old member of a session that ended while it was looked at proves nothing", () => {
	const processes = { 60: [1, 400, 98], 99: [1, 700, 98] } as const;
	const before = tableOf(processes) as ProcessTable;
	const entry = before.entry(99) as TableEntry;
	for (const meanwhile of [
		{ 99: processes[99] },
		{ ...processes, 60: [1, 650, 98] as const },
		{ ...processes, 99: [1, 800, 99] as const },
	]) {
		const now = tableOf(meanwhile) as ProcessTable;
		const descent = new Descent(now, before.entries(), 1_000, () => []);
		expect(descent.isDisproved(entry, marker)).toBe(false);
	}
});

test.each([
	["yes", `A=1\0SNAKEPIT_RUN=${RUN}:d:b:1:50:500\0`, "sh\0"],
	["yes", "A=1\0SNAKEPIT_GUARD=other12:d:b:1:50:500\0", "guard\0"],
	["yes", "A=1\0", `python\0-m\0x\0--run-id\0${RUN}\0`],
	["no", "A=1\0SNAKEPIT_RUN=other12:d:b:1:50:500\0B=\0", "sh\0"],
	["no", "A=1\0B=2\0", "guard\0--run-id\0other12\0"],
	["unknown", "", "sh\0"],
	["unknown", "postgres: writer\0\0\0\0", "postgres: writer\0"],
	["unknown", "A=1\0\0\0\0", "title\0"],
	["unknown", "ter process\0\0A=1\0", "title: mas"],
])("what a process was started with says %s", (carries, environment, args) => {
	expect(carriesRun(environment, args, RUN)).toBe(carries);
});
