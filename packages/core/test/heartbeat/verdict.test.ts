import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ProcessIdentity } from "../../src/contract/identity.ts";
import type { ThreadFacts } from "../../src/contract/world.ts";
import {
	type Activity,
	ActivityWatch,
	advanceOf,
	type HeartbeatEvidence,
	type HeartbeatRule,
	judgeHeartbeat,
} from "../../src/heartbeat/hang-verdict.ts";
import {
	answers,
	type MonitorScene,
	monitorScene,
	neverAnswers,
} from "./monitor-scene.ts";

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

/** A look at threads that used so much, by their names. */
const look = (
	atMs: number,
	used: Readonly<Record<string, number>>,
	held: ThreadFacts["held"] = "no",
) => ({
	atMs,
	threads: new Map(
		Object.entries(used).map(([id, cpuTimeMs]) => [
			id,
			{ id, cpuTimeMs, held },
		]),
	),
});

test("a first look has nothing to compare with, unless something is held", () => {
	expect(advanceOf(undefined, look(0, { a: 9_000 }))).toEqual({
		cpuMs: 0,
		activity: "unknown",
	});
	expect(
		advanceOf(undefined, look(0, { a: 0 }, "uninterruptible")).activity,
	).toBe("active");
});

test("one thread that used three hundredths of the time works, one that used less does not", () => {
	const before = look(0, { a: 100 });
	expect(advanceOf(before, look(2_000, { a: 160 }))).toEqual({
		cpuMs: 60,
		activity: "active",
	});
	expect(advanceOf(before, look(2_000, { a: 159 }))).toEqual({
		cpuMs: 59,
		activity: "idle",
	});
});

test("many threads that wait for a lock are idle, however much they use together", () => {
	const waiting = Array.from({ length: 64 }, (_, index) => `t${index}`);
	const at = (ms: number) =>
		Object.fromEntries(waiting.map((id) => [id, ms * 0.008]));
	expect(advanceOf(look(0, at(0)), look(2_000, at(2_000)))).toMatchObject({
		cpuMs: 64 * 16,
		activity: "idle",
	});
});

test("a thread that is new has used all of its time since, and one that ended is not missed", () => {
	const before = look(0, { a: 0, gone: 5_000 });
	expect(advanceOf(before, look(2_000, { a: 0, new: 60 }))).toEqual({
		cpuMs: 60,
		activity: "active",
	});
});

test("nothing used in no time is no work", () => {
	const before = look(0, { a: 7 });
	expect(advanceOf(before, look(0, { a: 7 })).activity).toBe("idle");
	expect(advanceOf(look(0, {}), look(2_000, {})).activity).toBe("idle");
});

test("a thread that a debugger stopped works, whatever it used", () => {
	const before = look(0, { a: 7 });
	expect(advanceOf(before, look(2_000, { a: 7 }, "traced")).activity).toBe(
		"active",
	);
});

describe("a worker that is silent", () => {
	const WORKER = 40;
	/** The milliseconds that each thread of a process used, by pid; all are in the worker's group. */
	const group = (used: Readonly<Record<number, readonly number[]>>) => {
		const at = { used, tables: 0 };
		const watch = new ActivityWatch(WORKER, {
			threads: (pid) =>
				(at.used[pid] ?? []).map((cpuTimeMs, id) => ({
					...{ id: String(id), cpuTimeMs },
					held: "no",
				})),
			members: (groupId) => {
				expect(groupId).toBe(WORKER);
				at.tables++;
				return Object.keys(at.used).map((pid) => ({
					identity: { pid: Number(pid) } as ProcessIdentity,
					...{ groupId, condition: "alive" },
					...{ cpuTimeMs: 0, residentBytes: 0 },
				}));
			},
		});
		return { at, watch };
	};

	test("and works itself is active, and the table of processes is not read", () => {
		const { at, watch } = group({ [WORKER]: [100], 41: [100] });
		expect(watch.look(1_000)).toEqual({ cpuMs: 0, activity: "unknown" });
		const { tables } = at;
		at.used = { [WORKER]: [160], 41: [100] };
		expect(watch.look(3_000)).toEqual({ cpuMs: 60, activity: "active" });
		expect(at.tables).toBe(tables);
	});

	test("and alone in its group is idle, whatever its threads used before", () => {
		const { at, watch } = group({ [WORKER]: [5_000, 7_000] });
		expect(watch.look(1_000).activity).toBe("unknown");
		at.used = { [WORKER]: [5_010, 7_020] };
		expect(watch.look(3_000)).toEqual({ cpuMs: 30, activity: "idle" });
	});

	test("and waits for a child that computes is active, and what both used counts", () => {
		const { at, watch } = group({ [WORKER]: [10], 41: [10], 42: [10] });
		watch.look(1_000);
		at.used = { [WORKER]: [12], 41: [11], 42: [1_010] };
		expect(watch.look(3_000)).toEqual({ cpuMs: 1_003, activity: "active" });
	});

	test("and whose child is idle is idle; a child that is new is first only looked at", () => {
		const { at, watch } = group({ [WORKER]: [10] });
		watch.look(1_000);
		at.used = { [WORKER]: [10], 41: [10] };
		expect(watch.look(3_000).activity).toBe("idle");
		expect(watch.look(5_000)).toEqual({ cpuMs: 0, activity: "idle" });
	});

	test("may do anything where the table of processes cannot be read", () => {
		const watch = new ActivityWatch(WORKER, {
			threads: () => [{ id: "0", cpuTimeMs: 10, held: "no" }],
			members: () => {
				throw new Error("EMFILE: too many open files");
			},
		});
		watch.look(1_000);
		expect(watch.look(3_000)).toEqual({ cpuMs: 0, activity: "unknown" });
	});

	test("is looked at anew after an answer", () => {
		const { at, watch } = group({ [WORKER]: [10], 41: [10] });
		watch.look(1_000);
		watch.reset();
		at.used = { [WORKER]: [9_010], 41: [9_010] };
		expect(watch.look(3_000)).toEqual({ cpuMs: 0, activity: "unknown" });
	});
});

describe("a silent worker on another machine", () => {
	const here = {
		threads: () => expect.unreachable(),
		members: () => expect.unreachable(),
	};

	test("is judged by what was measured there, and nothing here is looked at", () => {
		const usage = { cpuTimeMs: 5_000, residentBytes: 1 };
		const watch = new ActivityWatch(40, here, () => usage);
		expect(watch.look(1_000).activity).toBe("unknown");
		usage.cpuTimeMs = 5_500;
		expect(watch.look(3_000)).toEqual({ cpuMs: 500, activity: "active" });
		expect(watch.look(5_000)).toEqual({ cpuMs: 0, activity: "idle" });
		watch.reset();
		expect(watch.look(7_000).activity).toBe("unknown");
	});

	test("of which nothing was measured may do anything", () => {
		const watch = new ActivityWatch(40, here, () => undefined);
		watch.look(1_000);
		expect(watch.look(3_000)).toEqual({ cpuMs: 0, activity: "unknown" });
	});
});

describe("a worker that works", () => {
	/** Uses processor time at this share of the time that passes. */
	const uses = async (
		{ clock, process }: MonitorScene,
		share: number,
		seconds: number,
	): Promise<void> => {
		for (let second = 0; second < seconds; second++) {
			process.cpuTimeMs += 1_000 * share;
			await clock.advance(1_000);
		}
	};

	test("is busy, not hung, however long, and that is reported once", async () => {
		const scene = monitorScene(neverAnswers);
		await uses(scene, 0.4, 3_600);
		expect(scene.hung).toEqual([]);
		expect(scene.monitor.statistics().status).toBe("busy");
		expect(scene.events.of("heartbeat.busy")).toMatchObject([
			{ silentMs: 10_000 },
		]);
		const [busy] = scene.events.of("heartbeat.busy");
		// From the first ping that was missed on.
		expect(busy?.cpuAdvancedMs).toBeCloseTo(0.4 * 6_000);
	});

	test("and then does nothing is hung when it did nothing for as long as any other", async () => {
		const scene = monitorScene(neverAnswers);
		await uses(scene, 1, 60);
		await scene.clock.advance(9_999);
		expect(scene.hung).toEqual([]);
		await scene.clock.advance(2_000);
		expect(scene.hung).toEqual([70_000]);
		expect(scene.events.of("heartbeat.hung")).toMatchObject([
			{ cause: "idle", silentMs: 70_000 },
		]);
		expect(scene.events.of("heartbeat.busy")).toHaveLength(1);
	});

	test("and pauses now and then is not reported as busy again", async () => {
		const scene = monitorScene(neverAnswers);
		for (let round = 0; round < 10; round++) {
			await uses(scene, 1, 10);
			await scene.clock.advance(8_000);
		}
		expect(scene.hung).toEqual([]);
		expect(scene.events.of("heartbeat.busy")).toHaveLength(1);
	});

	test("and answers in between is reported again at its next silence", async () => {
		const scene = monitorScene(neverAnswers);
		await uses(scene, 1, 12);
		scene.answer(answers);
		await uses(scene, 1, 2);
		scene.answer(neverAnswers);
		await uses(scene, 1, 12);
		expect(scene.events.of("heartbeat.busy")).toHaveLength(2);
		expect(scene.hung).toEqual([]);
	});

	test("longer than its user allows is hung for that", async () => {
		const scene = monitorScene(neverAnswers, { busyLimitMs: 30_000 });
		await uses(scene, 1, 29);
		expect(scene.hung).toEqual([]);
		await uses(scene, 1, 2);
		expect(scene.hung).toEqual([30_000]);
		expect(scene.events.of("heartbeat.hung")).toMatchObject([
			{ cause: "busy_limit" },
		]);
	});

	test("is judged by what it does in its silence, not before", async () => {
		const { clock, process, hung, answer } = monitorScene(answers);
		process.cpuTimeMs = 50_000;
		await clock.advance(2_000);
		answer(neverAnswers);
		await clock.advance(10_000);
		expect(hung).toEqual([10_000]);
	});

	test("in a child of its group is busy too", async () => {
		const { clock, process, hung } = monitorScene(neverAnswers);
		const child = process.fork((self) => self.idle());
		for (let second = 0; second < 60; second++) {
			child.cpuTimeMs += 500;
			await clock.advance(1_000);
		}
		expect(hung).toEqual([]);
		child.exit(0);
		await clock.advance(14_000);
		expect(hung).toHaveLength(1);
	});

	test("and waits for a device, or is held by a debugger, is busy as long as it is", async () => {
		for (const held of ["uninterruptible", "traced"] as const) {
			const { clock, process, hung, events } = monitorScene(neverAnswers);
			process.held = held;
			await clock.advance(600_000);
			expect(hung).toEqual([]);
			expect(events.of("heartbeat.busy")).toMatchObject([{ cpuAdvancedMs: 0 }]);
			process.held = "no";
			await clock.advance(14_000);
			expect(hung).toHaveLength(1);
		}
	});

	test("no more than what waits for a lock is hung", async () => {
		const scene = monitorScene(neverAnswers);
		// Measured for a thread that waits for Python's lock.
		await uses(scene, 0.008, 14);
		expect(scene.hung).toEqual([10_000]);
	});

	test("but whose processor time cannot be read is judged by its silence", async () => {
		const scene = monitorScene(neverAnswers);
		scene.process.readable = false;
		await uses(scene, 1, 14);
		expect(scene.hung).toEqual([10_000]);
	});

	test("costs nothing while it answers", async () => {
		const { clock, host } = monitorScene(answers);
		host.threads = () => expect.unreachable();
		host.members = () => expect.unreachable();
		host.facts = () => expect.unreachable();
		await clock.advance(20_000);
	});
});
