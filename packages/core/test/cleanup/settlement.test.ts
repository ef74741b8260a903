import { expect, test } from "vitest";
import type { Orphan } from "../../src/cleanup/orphan-search.ts";
import type { Fate } from "../../src/cleanup/process-killer.ts";
import {
	creditProtections,
	deathOf,
	settle,
} from "../../src/cleanup/run-claim.ts";
import type { RunId } from "../../src/contract/identity.ts";
import { UNKNOWN_END } from "../../src/contract/process-registry.ts";
import type { Incident } from "../../src/registry/incidents.ts";
import { deadOwner, workerRow } from "./crafted-run.ts";

const RUN = "abcdefg" as RunId;

function orphan(pid: number, ofRun = RUN): Orphan {
	return {
		ofRun,
		pid,
		foundBy: "ledger",
		incarnation: undefined,
		fingerprint: undefined,
		identity: deadOwner({ pid }),
		groupId: pid,
		ownGroup: true,
	};
}

const rows = [10, 11].map((pid) =>
	workerRow(RUN, { incarnation: `w${pid}`, identity: deadOwner({ pid }) }),
);
const reserved = workerRow(RUN, { incarnation: "reserved" });

test("a run is over when nothing of it is left: each row says whether it was reaped or had vanished", () => {
	const results = [{ target: orphan(10), fate: "killed" as const }];
	expect(settle(RUN, [...rows, reserved], results, [])).toEqual({
		reaped: [
			{
				ofRun: RUN,
				pid: 10,
				how: "killed",
				foundBy: "ledger",
				identity: deadOwner({ pid: 10 }),
				incarnation: undefined,
			},
		],
		spared: [],
		ends: [
			{ incarnation: "w10", end: { reason: "reaped", killer: "reaper" } },
			{ incarnation: "w11", end: { reason: "vanished", killer: "unknown" } },
			{
				incarnation: "reserved",
				end: { reason: "vanished", killer: "unknown" },
			},
		],
		complete: true,
	});
});

test.each([
	["refused", "signal_refused"],
	["survived", "survived_kill"],
	["protected", "own_ancestor"],
] as [Fate, string][])(
	"one that %s keeps the run and its row open",
	(fate, reason) => {
		const results = [{ target: orphan(10), fate }];
		expect(settle(RUN, rows, results, [])).toMatchObject({
			reaped: [],
			spared: [{ ofRun: RUN, pid: 10, reason }],
			ends: [{ incarnation: "w11" }],
			complete: false,
		});
	},
);

test("a worker with a lifeline that is gone as its host was ended by it, unless the machine was restarted, or the reaper ended it", () => {
	const listening = rows.map((row) => ({
		...row,
		lifeline: "listening" as const,
	}));
	const endsOf = (...given: Parameters<typeof settle>) =>
		settle(...given).ends.map(({ end }) => [end.reason, end.killer]);
	const results = [{ target: orphan(10), fate: "killed" as const }];
	expect(endsOf(RUN, listening, results, [])).toEqual([
		["reaped", "reaper"],
		["host_died", "lifeline"],
	]);
	expect(endsOf(RUN, listening, [], [], { boot: "other" })).toEqual([
		["vanished", "unknown"],
		["vanished", "unknown"],
	]);
	expect(endsOf(RUN, rows, [], [])).toEqual([
		["vanished", "unknown"],
		["vanished", "unknown"],
	]);
	const { ends } = settle(RUN, listening, [], []);
	const killed: Incident = {
		...{ type: "protection.process_killed", wallMs: 1, protection: "guard" },
		...{ ofRun: RUN, pid: 11, incarnation: "w11" },
		startTime: deadOwner().startTime,
		...{ foundBy: "descent", signal: "SIGKILL" },
	};
	expect(
		creditProtections(ends, listening, [killed]).map(({ end }) => end.killer),
	).toEqual(["lifeline", "protection"]);
});

test("one that was spared before keeps the run open; those of other runs do not", () => {
	const other = "1234567" as RunId;
	const sparedBefore = [
		{ ofRun: RUN, pid: 10, reason: "strategy" as const },
		{ ofRun: other, pid: 77, reason: "strategy" as const },
	];
	const results = [{ target: orphan(11, other), fate: "survived" as const }];
	expect(settle(RUN, rows, results, sparedBefore)).toMatchObject({
		spared: [{ pid: 10, reason: "strategy" }],
		ends: [{ incarnation: "w11" }],
		complete: false,
	});
});

test("a worker that a protection killed before anybody settled the run is the protection's, a descendant of it is not the worker", () => {
	const { ends } = settle(RUN, [...rows, reserved], [], []);
	const killed = (
		pid: number,
		incarnation: string,
		wallMs = 4,
		startTime: string | undefined = deadOwner().startTime,
	): Incident => ({
		type: "protection.process_killed",
		wallMs,
		protection: "guard",
		ofRun: RUN,
		pid,
		startTime,
		incarnation,
		foundBy: "descent",
		signal: "SIGKILL",
	});
	const reaped = {
		incarnation: "w10",
		end: { reason: "reaped" as const, killer: "reaper" as const },
	};
	const detected: Incident = {
		type: "protection.host_death_detected",
		wallMs: 1,
		protection: "guard",
		ofRun: RUN,
		pid: 70,
	};
	expect(
		creditProtections([reaped, ...ends.slice(1)], rows, [
			detected,
			killed(10, "w10"),
			killed(11, "w11"),
			killed(12, "reserved"),
		]).map(({ end }) => end.killer),
	).toEqual(["reaper", "protection", "unknown"]);
	expect(
		creditProtections(ends, rows, [killed(99, "w11")])[1]?.end.killer,
	).toBe("unknown");
	// Its number was that of another worker before.
	expect(
		creditProtections(ends, rows, [killed(11, "w10")])[1]?.end.killer,
	).toBe("unknown");
	// It was reserved, and never got a number.
	expect(
		creditProtections(ends, [...rows, reserved], [killed(12, "reserved")]).map(
			({ end }) => end.killer,
		),
	).not.toContain("protection");
	// Its number was that of another process before.
	expect(
		creditProtections(ends, rows, [killed(11, "w11", 4, "1")])[1]?.end.killer,
	).toBe("unknown");
	const own = { reason: "reaped", killer: "protection" } as const;
	expect(
		creditProtections([reaped, { incarnation: "w11", end: own }], rows, [
			killed(10, "w10"),
			killed(11, "w11", 9),
			killed(11, "w11"),
		]),
	).toEqual([
		{ ...reaped, endedAt: undefined },
		{ incarnation: "w11", end: own, endedAt: 4 },
	]);
});

const says = (evidence: string | undefined) => ({
	killedForMemory: async () =>
		evidence === undefined
			? undefined
			: ({ kind: "killed", evidence } as const),
});
const owner = deadOwner();
const died = { owner, programEnd: undefined };

test("what a program recorded of its own end counts, whatever else is found", async () => {
	const programEnd = { ...UNKNOWN_END, how: "exited", code: 3 } as const;
	expect(await deathOf({ owner, programEnd }, "other", says("killed"))).toBe(
		programEnd,
	);
});

test("a program that recorded no end died of memory only if the kernel says so, and with its machine if that was restarted", async () => {
	expect(await deathOf(died, "same", says(undefined))).toBeUndefined();
	expect(await deathOf(died, "same", says("its log"))).toEqual({
		...{ ...UNKNOWN_END, how: "out_of_memory", detail: "its log" },
	});
	expect(await deathOf(died, "other", says("its log"))).toMatchObject({
		how: "machine_restarted",
	});
});
