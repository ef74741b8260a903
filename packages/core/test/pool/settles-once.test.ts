import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../../scripts/test-effort.ts";
import { scripts } from "../../src/testing.ts";
import { anyControl, control, expectControlled } from "./any-control.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

/** What may happen to a pool, step by step. */
const step = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			do: fc.constant("call" as const),
			command: fc.constantFrom(
				"echo",
				"work",
				"fail",
				"crash",
				"hang",
				"stuck",
				"count",
			),
			retries: fc.nat(2),
			timeoutMs: fc.option(fc.integer({ min: 1, max: 400 }), {
				nil: undefined,
			}),
			session: fc.constantFrom("none", "hint", "strict"),
			priority: fc.integer({ min: -1, max: 1 }),
		}),
	},
	{
		weight: 3,
		arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(300) }),
	},
	{
		weight: 2,
		arbitrary: fc.record({
			do: fc.constant("abort" as const),
			which: fc.nat(50),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({
			do: fc.constant("kill" as const),
			which: fc.nat(5),
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			do: fc.constant("breakConversation" as const),
			which: fc.nat(5),
		}),
	},
	{ weight: 3, arbitrary: anyControl },
);

test("every call settles exactly once, whatever crashes, is aborted, times out, is recycled, paused, resized or closed", async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.array(step, { minLength: 5, maxLength: 40 }),
			fc.nat(3),
			fc.constantFrom("gentle" as const, "forced" as const),
			fc.constantFrom(1, 32),
			async (steps, drainIndex, manner, dispatchesAtOnce) => {
				const { pool, clock, adapter, events, host, registry } =
					await virtualPool(
						{ commands: { ...scripts, stuck: scripts.hangIgnoringAbort } },
						{
							size: { min: 2, max: 3, idleMs: 500 },
							queue: { limit: 6 },
							callsPerWorker: 2,
							calls: { cancelGraceMs: 100 },
							recycle: { afterCalls: 5 },
							start: { maxRestarts: 1_000 },
						},
						1,
						dispatchesAtOnce,
					);
				const settlements: number[] = [];
				const aborts: AbortController[] = [];
				const sessions = {
					hint: pool.session({ affinity: "hint" }),
					strict: pool.session({ affinity: "strict" }),
				};
				const calls: Promise<unknown>[] = [];
				const controls: ReturnType<typeof outcome>[] = [];
				for (const happening of steps) {
					switch (happening.do) {
						case "call": {
							const index = calls.length;
							settlements.push(0);
							const controller = new AbortController();
							aborts.push(controller);
							const target =
								happening.session === "none"
									? pool
									: sessions[happening.session];
							const options = {
								signal: controller.signal,
								priority: happening.priority,
								retry: { attempts: 1 + happening.retries },
								...(happening.timeoutMs === undefined
									? {}
									: { timeoutMs: happening.timeoutMs }),
							};
							const call =
								happening.command === "count"
									? Array.fromAsync(target.stream("count", 5, options))
									: target.execute(happening.command, 20, options);
							calls.push(
								outcome(call).then(() => {
									settlements[index] = (settlements[index] ?? 0) + 1;
								}),
							);
							break;
						}
						case "wait":
							await clock.advance(happening.ms);
							break;
						case "abort":
							aborts[happening.which % Math.max(1, aborts.length)]?.abort();
							break;
						case "kill":
							adapter
								.living()
								[
									happening.which % Math.max(1, adapter.living().length)
								]?.crash();
							break;
						case "breakConversation":
							adapter
								.living()
								[
									happening.which % Math.max(1, adapter.living().length)
								]?.breakConversation();
							break;
						default:
							controls.push(outcome(control(pool, happening)));
					}
				}
				const closed = pool.close({ manner, drainMs: drainIndex * 100 });
				await clock.advanceUntil(closed);
				await Promise.all(calls);
				expectControlled(await Promise.all(controls));
				expect(settlements.every((count) => count === 1)).toBe(true);
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
		{ numRuns: rounds(1_000, 200), timeout: 10_000 },
	);
}, 600_000);
