import { expect, test } from "vitest";
import type { RunId } from "../../src/contract/identity.ts";
import {
	countKilled,
	type Incident,
	joinIncidents,
} from "../../src/registry/incidents.ts";

type Killed = Extract<Incident, { type: "protection.process_killed" }>;

const RUN = "k3x9a2p" as RunId;
const COMMON = { protection: "guard", ofRun: RUN };

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
		killed(2, 80, `${RUN}-1`),
		killed(2, 81),
		settled(3, 2),
	];
	expect(joinIncidents(incidents)).toEqual(incidents);
	expect(joinIncidents([])).toEqual([]);
});

test("two that worked side by side: one death, each process once, settled when the last one was done", () => {
	const inner = [
		death(1, 70),
		killed(3, 80, `${RUN}-1`),
		killed(3, 81, `${RUN}-1`),
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
		killed(2, 80, `${RUN}-1`),
		killed(3, 81, `${RUN}-1`),
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
	const first = killed(2, 80, `${RUN}-1`);
	const second = killed(3, 80, `${RUN}-2`, { startTime: "6000" });
	expect(joinIncidents([first, second])).toEqual([first, second]);
});

test("what two protections did is reported once: by the first, with the name that one of them knows, and each counts its own", () => {
	const guard = [death(1, 70), killed(3, 80), killed(3, 81), settled(9, 2)];
	const other = { protection: "watchdog" };
	const watchdog = [
		{ ...death(2, 60), ...other },
		killed(2, 80, `${RUN}-1`, other),
		killed(4, 81, `${RUN}-2`, other),
		killed(5, 82, `${RUN}-2`, other),
		{ ...settled(12, 3), ...other },
	];
	const joined = joinIncidents([...watchdog, ...guard], []);
	expect(joined).toEqual([
		death(1, 70),
		{ ...death(2, 60), ...other },
		killed(2, 80, `${RUN}-1`, other),
		killed(3, 81, `${RUN}-2`),
		killed(5, 82, `${RUN}-2`, other),
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
