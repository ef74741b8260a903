import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../../scripts/test-effort.ts";
import { virtualPoolBench } from "../../src/testing/virtual-pool.ts";
import { type ScriptedCall, scripts } from "../../src/testing.ts";
import { anyControl, control, expectControlled } from "./any-control.ts";
import { outcome } from "./virtual-pool.ts";

/** What may happen to a pool, step by step. */
const step = fc.oneof(
	{
		weight: 12,
		arbitrary: fc.record({
			do: fc.constant("calls" as const),
			count: fc.integer({ min: 1, max: 12 }),
			command: fc.constantFrom(
				...["echo", "echo", "echo", "work", "fail", "crash", "hang"],
				...["stuck", "count"],
			),
			ms: fc.constantFrom(1, 5, 30),
			retries: fc.constantFrom(0, 0, 1, 2),
			timeoutMs: fc.option(fc.integer({ min: 1, max: 60 }), {
				nil: undefined,
			}),
			queueTimeoutMs: fc.option(fc.integer({ min: 0, max: 30 }), {
				nil: undefined,
			}),
			session: fc.constantFrom("none", "none", "none", "hint", "strict"),
			priority: fc.integer({ min: -1, max: 1 }),
		}),
	},
	{
		weight: 6,
		arbitrary: fc.record({
			do: fc.constant("wait" as const),
			ms: fc.oneof(fc.nat(40), fc.nat(300)),
		}),
	},
	...(["abort", "kill", "breakConversation", "quick"] as const).map((what) => ({
		weight: 2,
		arbitrary: fc.record({ do: fc.constant(what), which: fc.nat(99) }),
	})),
	{ weight: 3, arbitrary: anyControl },
);

/** A call each to a worker that has the next ones already, or two to a worker that has not. */
const ways = fc.oneof(
	fc.record({
		callsPerWorker: fc.constant(1),
		gapMs: fc.constantFrom(0, 0, 1, 3),
		answerMs: fc.constantFrom(0, 0, 1, 3),
		limit: fc.constant(30),
		afterCalls: fc.constant(40),
	}),
	fc.record({
		callsPerWorker: fc.constant(2),
		gapMs: fc.constant(undefined),
		answerMs: fc.constant(undefined),
		limit: fc.constant(6),
		afterCalls: fc.constant(5),
	}),
);

test("whatever crashes, is aborted, times out, is recycled, paused, resized or closed, a call settles once, begins as often as it may, and `ran: no` is never said of one that began", async () => {
	let waited = 0;
	let recalled = 0;
	await fc.assert(
		fc.asyncProperty(
			fc.array(step, { minLength: 5, maxLength: 40 }),
			fc.constantFrom("gentle" as const, "forced" as const),
			fc.constantFrom(0, 100, 200, 300),
			fc.constantFrom(1, 32),
			fc.integer({ min: 1, max: 3 }),
			ways,
			async (steps, manner, drainMs, dispatchesAtOnce, size, way) => {
				/** By call id, how often its command began. */
				const began = new Map<string, number>();
				const noted = Object.fromEntries(
					Object.entries({
						...scripts,
						stuck: scripts.hangIgnoringAbort,
					}).map(([name, script]) => [
						name,
						(call: ScriptedCall) => {
							began.set(call.callId, (began.get(call.callId) ?? 0) + 1);
							return script(call);
						},
					]),
				);
				const { callsPerWorker, limit, afterCalls, gapMs, answerMs } = way;
				const onRecalled = (calls: number) => (recalled += calls);
				const { pool, clock, adapter, events, host, registry } =
					await virtualPoolBench(
						{
							commands: noted,
							...(gapMs !== undefined && {
								prefetch: { gapMs, answerMs, onRecalled },
							}),
						},
						{
							...{ callsPerWorker, size: { min: size, max: 3, idleMs: 500 } },
							...{ queue: { limit }, recycle: { afterCalls } },
							calls: { cancelGraceMs: 100 },
							start: { maxRestarts: 1_000 },
						},
						1,
						dispatchesAtOnce,
					);
				const aborts: AbortController[] = [];
				const sessions = {
					hint: pool.session({ affinity: "hint" }),
					strict: pool.session({ affinity: "strict" }),
				};
				const calls: Promise<unknown>[] = [];
				const controls: ReturnType<typeof outcome>[] = [];
				const pick = <T>(among: readonly T[], which: number): T | undefined =>
					among[which % Math.max(1, among.length)];
				const ids: string[] = [];
				pool.on("call.accepted", ({ callId }) => void ids.push(callId));
				const settled = new Map<string, number>();
				pool.on("call.settled", ({ callId }) => {
					settled.set(callId, (settled.get(callId) ?? 0) + 1);
				});
				const make = (
					command: string,
					target: Pick<typeof pool, "execute" | "stream">,
					options: Parameters<typeof pool.execute>[2] & {},
					args: unknown = 1,
				): void => {
					if (command === "count") {
						calls.push(
							outcome(Array.fromAsync(target.stream(command, 5, options))),
						);
						return;
					}
					const accepted = ids.length;
					const call = outcome(target.execute(command, args, options));
					// One that was refused as it was made has no id.
					const callId = ids[accepted];
					calls.push(
						call.then((end) => {
							const times = callId === undefined ? 0 : (began.get(callId) ?? 0);
							if (end.kind === "value") expect(times).toBeGreaterThan(0);
							else if (end.ran === "no") expect(times).toBe(0);
							expect(times).toBeLessThanOrEqual(options.retry?.attempts ?? 1);
						}),
					);
				};
				for (const happening of steps) {
					switch (happening.do) {
						case "calls":
							for (let n = 0; n < happening.count; n++) {
								const controller = new AbortController();
								aborts.push(controller);
								const { session, timeoutMs, queueTimeoutMs } = happening;
								make(
									happening.command,
									session === "none"
										? pool
										: sessions[session as keyof typeof sessions],
									{
										signal: controller.signal,
										priority: happening.priority,
										retry: { attempts: 1 + happening.retries },
										timeoutMs,
										queueTimeoutMs,
									},
									happening.ms,
								);
							}
							break;
						case "quick":
							// Makes every tool quick, so that the next ones are prefetched.
							for (const command of ["echo", "work", "fail"])
								for (let n = 0; n < 3; n++) make(command, pool, {}, 0);
							await clock.advance(15);
							break;
						case "wait":
							await clock.advance(happening.ms);
							break;
						case "abort":
							pick(aborts, happening.which)?.abort();
							break;
						case "kill":
							pick(adapter.living(), happening.which)?.crash();
							break;
						case "breakConversation":
							pick(adapter.living(), happening.which)?.breakConversation();
							break;
						default:
							controls.push(outcome(control(pool, happening)));
					}
				}
				await clock.advanceUntil(pool.close({ manner, drainMs }));
				await Promise.all(calls);
				expectControlled(await Promise.all(controls));
				for (const { mostCallsWaiting } of adapter.workers)
					waited = Math.max(waited, mostCallsWaiting);
				expect([...settled.values()].every((times) => times === 1)).toBe(true);
				expect(settled.size).toBe(ids.length);
				expect(pool.statistics().calls).toMatchObject({
					waiting: 0,
					running: 0,
				});
				expect(host.living()).toHaveLength(0);
				expect(registry.living()).toHaveLength(0);
				expect(host.keptAlive).toBe(0);
				events.assertPaired();
			},
		),
		{ numRuns: rounds(1_500, 250), timeout: 10_000 },
	);
	// What this test is about did happen.
	expect(waited).toBeGreaterThan(3);
	expect(recalled).toBeGreaterThan(10);
}, 600_000);
