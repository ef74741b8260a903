import { expect, test } from "vitest";
import type { Incident } from "../../src/registry/incident.ts";
import { joinIncidents } from "../../src/registry/joined-incidents.ts";
import type { RunId } from "../../src/run-id.ts";

const RUN = "k3x9a2p" as RunId;
const COMMON = { protection: "guard", ofRun: RUN };

function death(wallMs: number, pid: number): Incident {
	return { type: "protection.host_death_detected", wallMs, ...COMMON, pid };
}

function killed(wallMs: number, pid: number, incarnation?: string): Incident {
	return {
		type: "protection.process_killed",
		wallMs,
		...COMMON,
		pid,
		incarnation,
		foundBy: "descent",
		signal: "SIGKILL",
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
