import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	type Activity,
	type HeartbeatEvidence,
	type HeartbeatRule,
	judgeHeartbeat,
} from "../../src/heartbeat/hang-verdict.ts";

const rule: HeartbeatRule = {
	intervalMs: 2_000,
	hungAfterMs: 10_000,
	missedPings: 3,
	busyLimitMs: Number.POSITIVE_INFINITY,
};

/** A worker that has been silent for long enough, on a host that can judge. */
const silent: HeartbeatEvidence = {
	nowMs: 50_000,
	lastAnswerMs: 40_000,
	missedInARow: 3,
	hostDelayMs: 0,
	clockSkewMs: 0,
	debuggerAttached: false,
	activity: "idle",
	activeAtMs: undefined,
};
const judge = (
	evidence: Partial<HeartbeatEvidence>,
	given: Partial<HeartbeatRule> = {},
) => judgeHeartbeat({ ...silent, ...evidence }, { ...rule, ...given });

describe("the verdict", () => {
	const suspended = (reason: string) => ({ kind: "suspended", reason });
	const idle = { kind: "hung", cause: "idle" };
	const overLimit = { kind: "hung", cause: "busy_limit" };
	test.each<[string, Partial<HeartbeatEvidence>, object]>([
		["silent long enough", {}, idle],
		["answered the last ping", { missedInARow: 0 }, { kind: "healthy" }],
		["silent a moment less", { nowMs: 49_999 }, { kind: "suspect" }],
		["missed one ping less", { missedInARow: 2 }, { kind: "suspect" }],
		["host with a debugger", { debuggerAttached: true }, suspended("debugger")],
		["host late by half an interval", { hostDelayMs: 1_000 }, idle],
		["host later than that", { hostDelayMs: 1_001 }, suspended("host_lagged")],
		["clocks apart by an interval", { clockSkewMs: -2_000 }, idle],
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
		["at work", { activity: "active", activeAtMs: 50_000 }, { kind: "busy" }],
		[
			"at work for an hour",
			{ nowMs: 3_640_000, activity: "active", activeAtMs: 3_640_000 },
			{ kind: "busy" },
		],
		[
			"at work a moment ago",
			{ nowMs: 60_000, activeAtMs: 50_001 },
			{ kind: "suspect" },
		],
		["idle for as long since", { nowMs: 60_000, activeAtMs: 50_000 }, idle],
		["not compared yet", { activity: "unknown" }, { kind: "suspect" }],
	])("%s", (_who, evidence, verdict) => {
		expect(judge(evidence)).toEqual(verdict);
	});

	test.each<[string, Partial<HeartbeatEvidence>, number, object]>([
		["below the limit", { activity: "active" }, 10_001, { kind: "busy" }],
		["at the limit", { activity: "active" }, 10_000, overLimit],
		["a moment ago", { activeAtMs: 49_000 }, 10_000, overLimit],
		["never, and idle", {}, 10_000, idle],
		[
			"over a limit that is shorter than a hang, and silent for less than that",
			{ nowMs: 49_999, activity: "active" },
			1,
			{ kind: "suspect" },
		],
	])("at work %s", (_how, evidence, busyLimitMs, verdict) => {
		expect(judge(evidence, { busyLimitMs })).toEqual(verdict);
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
		activity: fc.constantFrom<Activity[]>("active", "idle", "unknown"),
		activeMs: fc.option(fc.nat(60_000), { nil: undefined }),
	})
	.map(({ silenceMs, activeMs, ...evidence }) => ({
		...evidence,
		nowMs: evidence.lastAnswerMs + silenceMs,
		activeAtMs:
			activeMs === undefined
				? undefined
				: evidence.lastAnswerMs + Math.min(activeMs, silenceMs),
	}));
const anyRule: fc.Arbitrary<HeartbeatRule> = fc.record({
	intervalMs: fc.integer({ min: 10, max: 10_000 }),
	hungAfterMs: fc.integer({ min: 10, max: 30_000 }),
	missedPings: fc.integer({ min: 1, max: 5 }),
	busyLimitMs: fc.oneof(
		fc.constant(Number.POSITIVE_INFINITY),
		fc.integer({ min: 1, max: 60_000 }),
	),
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

	test("while it works, however long, unless its user set a limit", () => {
		forAll((evidence, given) => {
			const working = { ...evidence, activity: "active" as const };
			const unlimited = { ...given, busyLimitMs: Number.POSITIVE_INFINITY };
			expect(hung(working, unlimited)).toBe(false);
			const verdict = judgeHeartbeat(working, given);
			if (verdict.kind !== "hung") return;
			expect(verdict.cause).toBe("busy_limit");
			expect(evidence.nowMs - evidence.lastAnswerMs).toBeGreaterThanOrEqual(
				given.busyLimitMs,
			);
		});
	});

	test("for being idle, before it was idle for as long as a silence may be", () => {
		forAll((evidence, given) => {
			const verdict = judgeHeartbeat(evidence, given);
			if (verdict.kind !== "hung" || verdict.cause !== "idle") return;
			expect(evidence.activity).toBe("idle");
			if (evidence.activeAtMs === undefined) return;
			expect(evidence.nowMs - evidence.activeAtMs).toBeGreaterThanOrEqual(
				given.hungAfterMs,
			);
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
				activity: "idle",
				activeAtMs: undefined,
			},
			given,
		);
		expect(verdict).toEqual({ kind: "hung", cause: "idle" });
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
			{ ...evidence, nowMs: evidence.nowMs + 1_000 },
			given,
		).kind;
		expect(severity.indexOf(after)).toBeGreaterThanOrEqual(
			severity.indexOf(before),
		);
	});
});
