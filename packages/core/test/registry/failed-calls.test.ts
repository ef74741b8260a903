import { describe, expect, test } from "vitest";
import type { EventOf } from "../../src/contract/events.ts";
import {
	ALIKE_A_SECOND,
	FAILED_CALLS_CHARACTERS,
	FAILED_CALLS_LIMIT,
	type FailedCall,
	failedCall,
	KINDS_A_SECOND,
	NotedFailedCalls,
} from "../../src/registry/failed-calls.ts";
import { openRegistry, type RegistryBench } from "./registry-bench.ts";

type SettledCall = EventOf<"call.settled">;

const ATTEMPT = {
	...{ workerId: "w-0", incarnation: "abcdefg-1", waitedMs: 5, ranMs: 20 },
	...{ code: "TOOL_FAILED", pauseMs: undefined },
} as const;

function settled(more: Partial<SettledCall> = {}): SettledCall {
	return {
		...{ type: "call.settled", wallMs: 1_000, pool: "w", callId: "c1" },
		...{ command: "print", outcome: "failed", code: "TOOL_FAILED" },
		...{ message: "no paper", ran: "maybe", args: undefined, attempts: 1 },
		remote: { type: "ValueError", message: "no paper", traceback: "Line 7" },
		attemptDetails: [ATTEMPT],
		...{ traceId: undefined, totalMs: 25 },
		...more,
	};
}

/** Has calls fail, each at its moment. */
function fail(
	noted: NotedFailedCalls,
	calls: readonly (Partial<SettledCall> & { readonly atMs?: number })[],
): void {
	for (const { atMs = 0, ...more } of calls) {
		const call = settled(more);
		const { pool, command, code = "" } = call;
		if (noted.counts(pool, command, code, atMs)) noted.keep(call);
	}
}

function many(
	count: number,
	more: (number: number) => Partial<SettledCall> & { readonly atMs?: number },
): (Partial<SettledCall> & { readonly atMs?: number })[] {
	return Array.from({ length: count }, (_, number) => more(number));
}

/** All that failed, kept or counted. */
function counted(calls: readonly FailedCall[]): number {
	return calls.reduce((sum, { alike }) => sum + 1 + alike, 0);
}

describe("of a failed call is kept", () => {
	test("what failed, on which worker, after which wait, and in which trace", () => {
		const call = settled({ traceId: "0af7", args: { path: "a.png" } });
		expect(failedCall(call, "recorded")).toEqual({
			...{ wallMs: 1_000, pool: "w", callId: "c1", command: "print" },
			...{ outcome: "failed", code: "TOOL_FAILED", message: "no paper" },
			...{ ran: "maybe", traceback: "Line 7", args: { path: "a.png" } },
			...{ attempts: 1, workerId: "w-0", incarnation: "abcdefg-1" },
			...{ waitedMs: 5, ranMs: 20, totalMs: 25, traceId: "0af7" },
		});
	});

	test("the wait of one that no worker took, or took again", () => {
		const waiting = { code: "QUEUE_TIMEOUT", outcome: "timed_out" } as const;
		expect(
			failedCall(
				settled({ ...waiting, attempts: 0, attemptDetails: [], totalMs: 90 }),
				"recorded",
			),
		).toMatchObject({ waitedMs: 90, ranMs: 0, workerId: undefined });
		expect(
			failedCall(
				settled({
					...{ ...waiting, totalMs: 100 },
					attemptDetails: [{ ...ATTEMPT, pauseMs: 30 }],
				}),
				"recorded",
			),
		).toMatchObject({ waitedMs: 5 + (100 - 5 - 20 - 30), ranMs: 20 });
	});

	test("a part of long texts and of large arguments, with the end of a message", () => {
		const kept = failedCall(
			settled({
				message: `${"x".repeat(100_000)}raise start.timeoutMs`,
				args: { rows: Array(1e6).fill("abc"), image: new Uint8Array(1e6) },
			}),
			"recorded",
		);
		expect(kept.message).toMatch(/^x+ … x+raise start\.timeoutMs$/);
		expect(JSON.stringify(kept).length).toBeLessThan(8_000);
		expect(kept.args).toMatchObject({
			rows: expect.arrayContaining(["abc", "…"]),
		});
	});

	const circle: { self?: unknown } = {};
	circle.self = circle;
	test.each([
		["a value that contains itself", circle, /…/],
		["an integer that JSON cannot carry", { id: 2n ** 70n }, /11805916/],
		["bytes", new Uint8Array(7), /<7 bytes>/],
		["a map", new Map([["a", new Date(0)]]), /\["a","1970-01-01T/],
		["a function", () => 1, /a function/],
		["NaN", Number.NaN, /NaN/],
		[
			"one that throws when it is read",
			{
				get path(): string {
					throw new Error("no");
				},
			},
			/cannot be shown/,
		],
	])("arguments whatever they are: %s", (_, args, shown) => {
		const kept = failedCall(settled({ args }), "recorded");
		expect(JSON.stringify(kept.args)).toMatch(shown);
	});
});

describe("of many failed calls", () => {
	test("that fail alike a few a second are kept, and all are counted", () => {
		const noted = new NotedFailedCalls("recorded");
		fail(
			noted,
			many(1_000, (n) => ({ callId: `c${n}`, atMs: n })),
		);
		fail(
			noted,
			many(7, (n) => ({ callId: `d${n}`, atMs: 1_000 })),
		);
		expect(noted.all).toHaveLength(2 * ALIKE_A_SECOND);
		expect(counted(noted.all)).toBe(1_007);
		expect(noted.all.map(({ alike }) => alike)).toEqual([
			...[0, 0, 0, 0, 1_000 - ALIKE_A_SECOND],
			...[0, 0, 0, 0, 7 - ALIKE_A_SECOND],
		]);
	});

	test("of very many commands all are counted, too, and a bounded number is kept a second", () => {
		const noted = new NotedFailedCalls("recorded");
		fail(
			noted,
			many(5_000, (n) => ({ command: `random-${n}` })),
		);
		expect(noted.all).toHaveLength(KINDS_A_SECOND + ALIKE_A_SECOND);
		expect(counted(noted.all)).toBe(5_000);
	});

	test("the number and the characters are bounded, and what failed once stays while another thing fails again and again", () => {
		const noted = new NotedFailedCalls("recorded");
		fail(noted, [{ command: "seldom", callId: "first" }]);
		const second = (n: number) => ({ callId: `c${n}`, atMs: 1_000 * n });
		fail(noted, many(2 * FAILED_CALLS_LIMIT, second));
		expect(noted.all).toHaveLength(FAILED_CALLS_LIMIT);
		expect(counted(noted.all)).toBe(1 + 2 * FAILED_CALLS_LIMIT);
		expect(noted.all[0]).toMatchObject({ callId: "first" });
		expect(noted.all.at(-1)).toMatchObject({
			callId: `c${2 * FAILED_CALLS_LIMIT - 1}`,
		});
		const message = "x".repeat(10_000);
		fail(
			noted,
			many(FAILED_CALLS_LIMIT, (n) => ({ ...second(5_000 + n), message })),
		);
		const characters = JSON.stringify(noted.all).length;
		expect(characters).toBeGreaterThan(FAILED_CALLS_CHARACTERS / 2);
		expect(characters).toBeLessThan(FAILED_CALLS_CHARACTERS * 1.1);
		expect(counted(noted.all)).toBe(1 + 3 * FAILED_CALLS_LIMIT);
		expect(noted.all[0]).toMatchObject({ callId: "first" });
	});
});

describe("in the file of its run a failed call is", () => {
	function failIn(
		{ registry }: RegistryBench,
		more: Partial<SettledCall> = {},
	): void {
		const call = settled(more);
		const { pool, command, code = "" } = call;
		if (registry.countFailedCall(pool, command, code))
			registry.keepFailedCall(call);
	}

	function inFile(bench: RegistryBench): readonly FailedCall[] {
		const { failedCalls } = bench.read() as {
			readonly failedCalls: readonly FailedCall[];
		};
		return failedCalls;
	}

	test("after a moment, with all that failed until then in one commit a second", async () => {
		const bench = await openRegistry();
		const { registry, clock } = bench;
		const { commits } = registry.statistics();
		failIn(bench);
		expect(inFile(bench)).toEqual([]);
		await clock.advance(100);
		expect(inFile(bench)).toMatchObject([{ callId: "c1", alike: 0 }]);
		for (let n = 0; n < 3_000; n++) {
			failIn(bench, { callId: `d${n}` });
			await clock.advance(1);
		}
		await clock.advance(1_000);
		expect(registry.statistics().commits - commits).toBeLessThanOrEqual(5);
		expect(counted(inFile(bench))).toBe(3_001);
		expect(inFile(bench)).toEqual(registry.failedCalls);
	});

	test("with the next commit of the ledger, and with its end", async () => {
		const bench = await openRegistry();
		failIn(bench);
		bench.reserve();
		expect(inFile(bench)).toMatchObject([{ callId: "c1" }]);
		failIn(bench, { callId: "c2" });
		bench.registry.close();
		expect(inFile(bench)).toMatchObject([{ callId: "c1" }, { callId: "c2" }]);
		failIn(bench, { callId: "late" });
		expect(bench.registry.failedCalls).toHaveLength(2);
	});

	test("when it can be written again, and again when it was damaged", async () => {
		const bench = await openRegistry();
		const { registry, clock } = bench;
		bench.reserve();
		bench.holdLedger();
		failIn(bench);
		await clock.advance(100);
		expect(bench.of("registry.degraded")).toMatchObject([{ unwritten: 1 }]);
		expect(registry.statistics().unwritten).toBe(1);
		bench.unlock();
		expect(registry.flush()).toBe(0);
		expect(inFile(bench)).toMatchObject([{ callId: "c1" }]);
		bench.damage();
		bench.reserve();
		expect(inFile(bench)).toMatchObject([{ callId: "c1" }]);
	});

	test("no longer than there is room for it", async () => {
		const bench = await openRegistry();
		for (let n = 0; n < FAILED_CALLS_LIMIT + 20; n++) {
			failIn(bench, { callId: `c${n}` });
			await bench.clock.advance(1_000);
		}
		await bench.clock.advance(1_000);
		expect(inFile(bench)).toHaveLength(FAILED_CALLS_LIMIT);
		expect(inFile(bench)[0]).toMatchObject({ callId: "c20", alike: 20 });
	});
});
