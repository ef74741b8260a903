import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	type HeartbeatEvidence,
	type HeartbeatRule,
	judgeHeartbeat,
} from "../../src/heartbeat/verdict.ts";

const rule: HeartbeatRule = {
	intervalMs: 2_000,
	hungAfterMs: 10_000,
	missedPings: 3,
};

/** A worker that has been silent for long enough, on a host that can judge. */
const silent: HeartbeatEvidence = {
	nowMs: 50_000,
	lastAnswerMs: 40_000,
	missedInARow: 3,
	hostDelayMs: 0,
	clockSkewMs: 0,
	debuggerAttached: false,
	cpuAdvancedMs: 0,
	grace: "unused",
};
const judge = (evidence: Partial<HeartbeatEvidence>) =>
	judgeHeartbeat({ ...silent, ...evidence }, rule);

describe("the verdict", () => {
	const suspended = (reason: string) => ({ kind: "suspended", reason });
	test.each<[string, Partial<HeartbeatEvidence>, object]>([
		["silent long enough", {}, { kind: "hung", silentMs: 10_000 }],
		["answered the last ping", { missedInARow: 0 }, { kind: "healthy" }],
		["silent a moment less", { nowMs: 49_999 }, { kind: "suspect" }],
		["missed one ping less", { missedInARow: 2 }, { kind: "suspect" }],
		["host with a debugger", { debuggerAttached: true }, suspended("debugger")],
		[
			"host late by half an interval",
			{ hostDelayMs: 1_000 },
			{ kind: "hung", silentMs: 10_000 },
		],
		["host later than that", { hostDelayMs: 1_001 }, suspended("host_lagged")],
		[
			"clocks apart by an interval",
			{ clockSkewMs: -2_000 },
			{ kind: "hung", silentMs: 10_000 },
		],
		[
			"clock that jumped ahead",
			{ clockSkewMs: 2_001 },
			suspended("clock_jumped"),
		],
		[
			"clock that was set back",
			{ clockSkewMs: -2_001 },
			suspended("clock_jumped"),
		],
		[
			"busy for a tenth of its silence",
			{ cpuAdvancedMs: 1_000 },
			{ kind: "busy", silentMs: 10_000, cpuAdvancedMs: 1_000 },
		],
		[
			"busy for less than that",
			{ cpuAdvancedMs: 999 },
			{ kind: "hung", silentMs: 10_000 },
		],
		[
			"busy, and had its grace",
			{ cpuAdvancedMs: 10_000, grace: "used" },
			{ kind: "hung", silentMs: 10_000 },
		],
		[
			"processor time that cannot be read",
			{ cpuAdvancedMs: undefined },
			{ kind: "hung", silentMs: 10_000 },
		],
	])("%s", (_who, evidence, verdict) => {
		expect(judge(evidence)).toEqual(verdict);
	});
});

const anyEvidence: fc.Arbitrary<HeartbeatEvidence> = fc
	.record({
		lastAnswerMs: fc.nat(100_000),
		silenceMs: fc.nat(60_000),
		missedInARow: fc.nat(8),
		hostDelayMs: fc.oneof(fc.constant(0), fc.nat(5_000)),
		clockSkewMs: fc.oneof(
			fc.constant(0),
			fc.integer({ min: -100_000, max: 100_000 }),
		),
		debuggerAttached: fc.boolean(),
		cpuAdvancedMs: fc.option(fc.nat(60_000), { nil: undefined }),
		grace: fc.constantFrom("unused" as const, "used" as const),
	})
	.map(({ silenceMs, ...evidence }) => ({
		...evidence,
		nowMs: evidence.lastAnswerMs + silenceMs,
	}));
const anyRule: fc.Arbitrary<HeartbeatRule> = fc.record({
	intervalMs: fc.integer({ min: 10, max: 10_000 }),
	hungAfterMs: fc.integer({ min: 10, max: 30_000 }),
	missedPings: fc.integer({ min: 1, max: 5 }),
});
const forAll = (
	promise: (evidence: HeartbeatEvidence, rule: HeartbeatRule) => void,
): void =>
	fc.assert(fc.property(anyEvidence, anyRule, promise), { numRuns: 2_000 });

describe("a worker is never hung", () => {
	const hung = (evidence: HeartbeatEvidence, given: HeartbeatRule): boolean =>
		judgeHeartbeat(evidence, given).kind === "hung";

	test("while its host was late, its clock jumped, or a debugger was attached", () => {
		forAll((evidence, given) => {
			for (const excuse of [
				{ debuggerAttached: true },
				{ hostDelayMs: given.intervalMs / 2 + 1 },
				{ clockSkewMs: given.intervalMs + 1 },
				{ clockSkewMs: -given.intervalMs - 1 },
			])
				expect(hung({ ...evidence, ...excuse }, given)).toBe(false);
		});
	});

	test("unless its last answer is old enough and enough pings in a row were missed", () => {
		forAll((evidence, given) => {
			if (!hung(evidence, given)) return;
			expect(evidence.nowMs - evidence.lastAnswerMs).toBeGreaterThanOrEqual(
				given.hungAfterMs,
			);
			expect(evidence.missedInARow).toBeGreaterThanOrEqual(given.missedPings);
		});
	});

	test("while it computes and had no grace for that", () => {
		forAll((evidence, given) => {
			const computing = {
				...evidence,
				grace: "unused" as const,
				cpuAdvancedMs: evidence.nowMs - evidence.lastAnswerMs,
			};
			expect(hung(computing, given)).toBe(false);
		});
	});
});

test("a worker that is silent for long enough, with nothing to excuse it, is hung: a hang is always found", () => {
	forAll((evidence, given) => {
		const verdict = judgeHeartbeat(
			{
				...evidence,
				nowMs: evidence.lastAnswerMs + given.hungAfterMs,
				missedInARow: given.missedPings,
				hostDelayMs: 0,
				clockSkewMs: 0,
				debuggerAttached: false,
				grace: "used",
			},
			given,
		);
		expect(verdict).toEqual({ kind: "hung", silentMs: given.hungAfterMs });
	});
});

test("a worker that answered the last ping is healthy, whatever else is the case", () => {
	forAll((evidence, given) => {
		expect(judgeHeartbeat({ ...evidence, missedInARow: 0 }, given)).toEqual({
			kind: "healthy",
		});
	});
});

test("a longer silence is never a milder verdict", () => {
	const severity = ["healthy", "suspended", "suspect", "busy", "hung"];
	forAll((evidence, given) => {
		const before = judgeHeartbeat(evidence, given).kind;
		const after = judgeHeartbeat(
			{ ...evidence, nowMs: evidence.nowMs + 1_000, grace: "used" },
			given,
		).kind;
		expect(severity.indexOf(after)).toBeGreaterThanOrEqual(
			severity.indexOf(before),
		);
	});
});
