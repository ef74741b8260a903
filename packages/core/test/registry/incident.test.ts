import { execFileSync } from "node:child_process";
import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RunId } from "../../src/contract/identity.ts";
import {
	INCIDENT_FILE_LIMIT_BYTES,
	INCIDENT_FILES_LIMIT,
	readIncidentFiles,
} from "../../src/registry/incident-files.ts";
import {
	INCIDENT_LIMIT_BYTES,
	type Incident,
	type Naming,
	parseIncident,
} from "../../src/registry/incidents.ts";
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
