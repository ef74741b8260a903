import { execFileSync } from "node:child_process";
import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { StartError } from "../../src/contract/errors.ts";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import type { RunId } from "../../src/contract/identity.ts";
import {
	INCIDENT_FILE_LIMIT_BYTES,
	INCIDENT_FILES_LIMIT,
	readIncidentFiles,
	recordedNames,
} from "../../src/registry/incident-files.ts";
import {
	countKilled,
	hostIncidentOf,
	INCIDENT_LIMIT_BYTES,
	type Incident,
	joinIncidents,
	type Naming,
	parseHostIncident,
	parseIncident,
} from "../../src/registry/incidents.ts";
import { deadOwner, workerRow } from "../cleanup/crafted-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const RUN = "abcdefg" as RunId;
const DETECTED: Incident = {
	type: "protection.host_death_detected",
	wallMs: 1,
	protection: "guard",
	ofRun: RUN,
	pid: 70,
};
const KILLED = {
	type: "protection.process_killed",
	wallMs: 2.5,
	protection: "guard",
	ofRun: RUN,
	pid: 77,
	startTime: "5000",
	incarnation: "abcdefg-1",
	foundBy: "descent",
	signal: "SIGKILL",
} satisfies Incident;
const NOTHING_RECORDED = () => [];
const SETTLED: Incident = {
	type: "protection.run_settled",
	wallMs: 3,
	protection: "guard",
	ofRun: RUN,
	killed: 1,
	durationMs: 2,
};

test.each([
	DETECTED,
	{ ...DETECTED, pid: undefined, detectionMs: 12.5 },
	KILLED,
	{
		...KILLED,
		startTime: undefined,
		incarnation: undefined,
		signal: undefined,
	},
	{ ...KILLED, signal: "SIGTERM" as const },
	{ ...KILLED, incarnation: "abcdefg-12345" },
	{ ...SETTLED, wallMs: 0, killed: 0, durationMs: 0 },
	SETTLED,
])("what is written as JSON is read again: $type", (incident) => {
	expect(parseIncident(JSON.stringify(incident), RUN)).toEqual(incident);
});

test("what is not known is left out", () => {
	const text = JSON.stringify({ ...DETECTED, more: { deep: [1] } });
	expect(parseIncident(text, RUN)).toEqual(DETECTED);
});

test.each<[string, string]>([
	["no JSON", "{"],
	["no object", "5"],
	["null", "null"],
	["in less than no time", JSON.stringify({ ...DETECTED, detectionMs: -1 })],
	["an event of a living host", '{"type":"run.ended"}'],
	["of another type", JSON.stringify({ ...DETECTED, type: "run.ended" })],
	["of another run", JSON.stringify({ ...DETECTED, ofRun: "0000000" })],
	["without a time", JSON.stringify({ ...DETECTED, wallMs: "now" })],
	["before all time", JSON.stringify({ ...DETECTED, wallMs: -1 })],
	["nobody's", JSON.stringify({ ...DETECTED, protection: "../x" })],
	["numbered protection", JSON.stringify({ ...DETECTED, protection: 1 })],
	["seen by nothing", JSON.stringify({ ...DETECTED, pid: "70" })],
	["ended by a wish", JSON.stringify({ ...KILLED, signal: "SIGNAL" })],
	["without a pid", JSON.stringify({ ...KILLED, pid: 1.5 })],
	["begun at no time", JSON.stringify({ ...KILLED, startTime: 5000 })],
	["begun for ever", JSON.stringify({ ...KILLED, startTime: "5".repeat(99) })],
	["found somehow", JSON.stringify({ ...KILLED, foundBy: "luck" })],
	[
		"a name within another",
		JSON.stringify({ ...KILLED, incarnation: "x-abcdefg-1" }),
	],
	[
		"more than a name",
		JSON.stringify({ ...KILLED, incarnation: "abcdefg-1x" }),
	],
	["a protection's", JSON.stringify({ ...DETECTED, protection: "guard/x" })],
	["a long name", JSON.stringify({ ...KILLED, incarnation: "x".repeat(99) })],
	["uncounted", JSON.stringify({ ...SETTLED, killed: "many" })],
	["timeless", JSON.stringify({ ...SETTLED, durationMs: null })],
	["too long", JSON.stringify(DETECTED) + " ".repeat(INCIDENT_LIMIT_BYTES)],
])("what is %s is no incident", (_, text) => {
	expect(parseIncident(text, RUN)).toBeUndefined();
});

test("the killed worker is looked up with its line of parents, as far as that was written", () => {
	const asked: unknown[] = [];
	const naming: Naming = (line, written) => {
		asked.push(
			line.map(({ pid, startTime }) => [pid, startTime]),
			written,
		);
		return "abcdefg-9";
	};
	const nonsense = [null, 5, { pid: 1 }, { pid: "1", startTime: "1" }];
	const below = [{ pid: 76, startTime: "4000" }, ...nonsense];
	const read = parseIncident(JSON.stringify({ ...KILLED, below }), RUN, naming);
	expect(read).toEqual({ ...KILLED, incarnation: "abcdefg-9" });
	expect(asked).toEqual([
		[
			[77, "5000"],
			[76, "4000"],
		],
		"abcdefg-1",
	]);
	parseIncident(
		JSON.stringify({ ...KILLED, startTime: undefined }),
		RUN,
		naming,
	);
	expect(asked.slice(2)).toEqual([[], "abcdefg-1"]);
});

function lines(...incidents: readonly Incident[]): string {
	return incidents.map((incident) => `${JSON.stringify(incident)}\n`).join("");
}

test("a protection's file is read line by line, and what is not an incident of it is left out", () => {
	const directory = temporaryDirectory();
	const path = join(directory, "incidents.guard.jsonl");
	const foreign = { ...DETECTED, protection: "watchdog" };
	const cut = lines(SETTLED).slice(0, 20);
	writeFileSync(
		path,
		`${lines(DETECTED, foreign)}\n\0nonsense\n${lines(KILLED)}${cut}`,
	);
	expect(readIncidentFiles(directory, RUN, NOTHING_RECORDED)).toEqual([
		DETECTED,
		KILLED,
	]);
	expect(
		readIncidentFiles(join(directory, "gone"), RUN, NOTHING_RECORDED),
	).toEqual([]);
});

test("a file is read up to a bound, and so many files", () => {
	const directory = temporaryDirectory();
	const first = lines({ ...KILLED, pid: 1_000_000 });
	const count = Math.ceil(INCIDENT_FILE_LIMIT_BYTES / first.length) + 100;
	const all = Array.from({ length: count }, (_, n) =>
		lines({ ...KILLED, pid: 1_000_000 + n }),
	);
	writeFileSync(join(directory, "incidents.guard.jsonl"), all.join(""));
	expect(readIncidentFiles(directory, RUN, NOTHING_RECORDED).length).toBe(
		Math.floor(INCIDENT_FILE_LIMIT_BYTES / first.length),
	);
	const many = temporaryDirectory();
	for (let n = 10; n < 30; n++) {
		const incident = { ...DETECTED, protection: `p${n}` };
		writeFileSync(join(many, `incidents.p${n}.jsonl`), lines(incident));
	}
	expect(readIncidentFiles(many, RUN, NOTHING_RECORDED).length).toBe(
		INCIDENT_FILES_LIMIT,
	);
});

test("only a plain file of this user is read: no link, no pipe, no directory, no other name", () => {
	const directory = temporaryDirectory();
	const other = join(directory, "incidents.Other.jsonl");
	writeFileSync(other, lines({ ...DETECTED, protection: "Other" }));
	for (const name of ["xincidents.guard.jsonl", "incidents.guard.jsonl.old"])
		writeFileSync(join(directory, name), lines(DETECTED));
	symlinkSync(other, join(directory, "incidents.link.jsonl"));
	execFileSync("mkfifo", [join(directory, "incidents.pipe.jsonl")]);
	execFileSync("mkdir", [join(directory, "incidents.dir.jsonl")]);
	expect(readIncidentFiles(directory, RUN, NOTHING_RECORDED)).toEqual([]);
});

test.runIf(process.platform === "linux")("no file stays open", () => {
	const directory = temporaryDirectory();
	writeFileSync(join(directory, "incidents.guard.jsonl"), lines(DETECTED));
	const open = () => readdirSync("/proc/self/fd").length;
	const before = open();
	for (let n = 0; n < 20; n++)
		readIncidentFiles(directory, RUN, NOTHING_RECORDED);
	// Others of this process may open or close some meanwhile.
	expect(open()).toBeLessThan(before + 10);
});

const hung: SnakepitEvent = {
	type: "heartbeat.hung",
	wallMs: 5,
	pool: "p",
	workerId: "p-0",
	incarnation: "aaaaaaa-1",
	cause: "idle",
	silentMs: 10_000,
	missedInARow: 3,
};
const ended = (how: "lost" | "released"): SnakepitEvent => ({
	type: "protection.ended",
	wallMs: 1,
	protection: "guard",
	pid: 3,
	exit: undefined,
	how,
});

test("a hung worker and a lost protection are incidents; a worker that is ready and a protection that was released are none", () => {
	expect([hung, ended("lost")].map(hostIncidentOf)).toEqual([
		hung,
		ended("lost"),
	]);
	const ready = { ...hung, type: "heartbeat.busy", cpuAdvancedMs: 1 } as const;
	expect([ready, ended("released")].map(hostIncidentOf)).toEqual([
		undefined,
		undefined,
	]);
});

test("a pool that could not be started is one, with its error; a pool that was closed meanwhile is none", () => {
	const failed = (code: "POOL_CLOSED" | "OUT_OF_DESCRIPTORS") =>
		hostIncidentOf({
			...{ type: "pool.start_failed", wallMs: 1, pool: "p", adapter: "a" },
			error: new StartError({ code, message: "why" } as never),
		} as SnakepitEvent);
	expect(failed("POOL_CLOSED")).toBeUndefined();
	const incident = failed("OUT_OF_DESCRIPTORS");
	expect(parseHostIncident(JSON.stringify(incident))).toMatchObject({
		type: "pool.start_failed",
		error: { name: "StartError", code: "OUT_OF_DESCRIPTORS", message: "why" },
	});
});

test("one is read from the ledger as it was written, and nothing else is", () => {
	expect(parseHostIncident(JSON.stringify(hung))).toEqual(hung);
	for (const text of [
		"{",
		"7",
		"null",
		'{"type":"run.started","wallMs":1}',
		'{"type":"heartbeat.hung","wallMs":"1"}',
	])
		expect(parseHostIncident(text)).toBeUndefined();
});

type Killed = Extract<Incident, { type: "protection.process_killed" }>;

const OF_RUN = "k3x9a2p" as RunId;
const COMMON = { protection: "guard", ofRun: OF_RUN };

function death(wallMs: number, pid: number): Incident {
	return { type: "protection.host_death_detected", wallMs, ...COMMON, pid };
}

function killed(
	wallMs: number,
	pid: number,
	incarnation?: string,
	fields: Partial<Killed> = {},
): Killed {
	return {
		type: "protection.process_killed",
		wallMs,
		...COMMON,
		pid,
		startTime: "5000",
		incarnation,
		foundBy: "descent",
		signal: "SIGKILL",
		...fields,
	};
}

function settled(wallMs: number, killed: number, durationMs = 1): Incident {
	return {
		type: "protection.run_settled",
		wallMs,
		...COMMON,
		killed,
		durationMs,
	};
}

test("what one process wrote stays as it is", () => {
	const incidents = [
		death(1, 70),
		killed(2, 80, `${OF_RUN}-1`),
		killed(2, 81),
		settled(3, 2),
	];
	expect(joinIncidents(incidents)).toEqual(incidents);
	expect(joinIncidents([])).toEqual([]);
});

test("two that worked side by side: one death, each process once, settled when the last one was done", () => {
	const inner = [
		death(1, 70),
		killed(3, 80, `${OF_RUN}-1`),
		killed(3, 81, `${OF_RUN}-1`),
		settled(9, 2, 8),
	];
	const outer = [
		death(2, 60),
		killed(2, 80),
		killed(4, 81),
		killed(4, 82),
		settled(7, 3, 5),
	];
	const joined = [
		death(1, 70),
		killed(2, 80, `${OF_RUN}-1`),
		killed(3, 81, `${OF_RUN}-1`),
		killed(4, 82),
		settled(9, 3, 8),
	];
	expect(joinIncidents([...inner, ...outer])).toEqual(joined);
	expect(joinIncidents([...outer, ...inner])).toEqual(joined);
});

test("a process that was lost halfway is not taken for one that settled", () => {
	expect(joinIncidents([killed(3, 80), death(1, 70)])).toEqual([
		death(1, 70),
		killed(3, 80),
	]);
});

test("where not every one is named, the greatest count stands", () => {
	expect(
		joinIncidents([killed(3, 80), settled(9, 400), settled(8, 2)]),
	).toEqual([killed(3, 80), settled(9, 400)]);
});

test("a pid that was taken by another process is another process", () => {
	const first = killed(2, 80, `${OF_RUN}-1`);
	const second = killed(3, 80, `${OF_RUN}-2`, { startTime: "6000" });
	expect(joinIncidents([first, second])).toEqual([first, second]);
});

test("what two protections did is reported once: by the first, with the name that one of them knows, and each counts its own", () => {
	const guard = [death(1, 70), killed(3, 80), killed(3, 81), settled(9, 2)];
	const other = { protection: "watchdog" };
	const watchdog = [
		{ ...death(2, 60), ...other },
		killed(2, 80, `${OF_RUN}-1`, other),
		killed(4, 81, `${OF_RUN}-2`, other),
		killed(5, 82, `${OF_RUN}-2`, other),
		{ ...settled(12, 3), ...other },
	];
	const joined = joinIncidents([...watchdog, ...guard], []);
	expect(joined).toEqual([
		death(1, 70),
		{ ...death(2, 60), ...other },
		killed(2, 80, `${OF_RUN}-1`, other),
		killed(3, 81, `${OF_RUN}-2`),
		killed(5, 82, `${OF_RUN}-2`, other),
		settled(9, 1),
		{ ...settled(12, 2), ...other },
	]);
	expect(countKilled(joined, [])).toBe(3);
	expect(countKilled(joined, [{ pid: 82, startTime: "5000" }])).toBe(2);
});

test("a process that is reported otherwise is not reported again", () => {
	const reported = [{ pid: 80, startTime: "5000" }];
	const all = [killed(3, 80), killed(3, 81), settled(9, 300)];
	expect(joinIncidents(all, reported)).toEqual([
		killed(3, 81),
		settled(9, 299),
	]);
	expect(countKilled(all, reported)).toBe(1);
});

const NAMED_RUN = "abcdefg";
const rows = [
	workerRow(NAMED_RUN, {
		incarnation: `${NAMED_RUN}-4`,
		identity: deadOwner({ pid: 40, startTime: "400" }),
	}),
	workerRow(NAMED_RUN, {
		incarnation: `${NAMED_RUN}-1`,
		identity: deadOwner({ pid: 10, startTime: "500" }),
	}),
	workerRow(NAMED_RUN, { incarnation: `${NAMED_RUN}-2` }),
];
const parent = { pid: 40, startTime: "400" };
const worker = { pid: 10, startTime: "500" };
const child = { pid: 11, startTime: "510" };

test("a forked worker has its own name, and so has what is below it", () => {
	const naming = recordedNames(() => rows);
	expect(naming([worker, parent], `${NAMED_RUN}-4`)).toBe(`${NAMED_RUN}-1`);
	expect(naming([child, worker, parent], `${NAMED_RUN}-4`)).toBe(
		`${NAMED_RUN}-1`,
	);
	expect(naming([worker], undefined)).toBe(`${NAMED_RUN}-1`);
	expect(naming([parent], `${NAMED_RUN}-4`)).toBe(`${NAMED_RUN}-4`);
	expect(naming([child, parent], undefined)).toBe(`${NAMED_RUN}-4`);
});

test("another process with the number of a worker is not that worker", () => {
	const naming = recordedNames(() => rows);
	const later = { ...worker, startTime: "600" };
	expect(naming([later], undefined)).toBeUndefined();
});

test("without a record, the written name is used only for a process that its writer forked itself", () => {
	const naming = recordedNames(() => []);
	expect(naming([parent], `${NAMED_RUN}-4`)).toBe(`${NAMED_RUN}-4`);
	expect(naming([worker, parent], `${NAMED_RUN}-4`)).toBeUndefined();
	expect(naming([], `${NAMED_RUN}-4`)).toBe(`${NAMED_RUN}-4`);
});

test("the record is read when there is something to name, once", () => {
	let read = 0;
	const naming = recordedNames(() => {
		read++;
		return rows;
	});
	expect(read).toBe(0);
	naming([parent], undefined);
	naming([worker], undefined);
	expect(read).toBe(1);
});
