import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../../scripts/test-effort.ts";
import type { Pool, PoolSession } from "../../src/pool/pool.ts";
import { virtualPoolBench } from "../../src/testing/virtual-pool.ts";
import { scripts } from "../../src/testing.ts";
import { control, expectControlled, gentleControl } from "./any-control.ts";
import { outcome } from "./virtual-pool.ts";

/** What may happen to a pool in which nothing fails, step by step. */
const step = fc.oneof(
	{
		weight: 10,
		arbitrary: fc.record({
			do: fc.constant("calls" as const),
			count: fc.integer({ min: 1, max: 6 }),
			how: fc.constantFrom("echo", "work", "whoami", "stream", "lease"),
			ms: fc.constantFrom(0, 1, 5, 30, 300),
			/** Of the sessions that there were by then; 0 for none. */
			session: fc.constantFrom(0, 0, 1, 2, 3),
			priority: fc.integer({ min: -1, max: 1 }),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({
			do: fc.constant("open" as const),
			affinity: fc.constantFrom("hint" as const, "strict" as const),
		}),
	},
	...(["close", "abort"] as const).map((what) => ({
		weight: 2,
		arbitrary: fc.record({ do: fc.constant(what), which: fc.nat(99) }),
	})),
	{
		weight: 5,
		arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(400) }),
	},
	{ weight: 4, arbitrary: gentleControl },
);

/** A call, and what is to become of it. */
interface Made {
	readonly ended: ReturnType<typeof outcome>;
	/** `undefined` for any value. */
	readonly answer: unknown;
	readonly session: PoolSession | undefined;
	readonly abort: AbortController;
}

function make(
	target: Pick<Pool, "execute" | "stream" | "use">,
	how: string,
	ms: number,
	options: { readonly signal: AbortSignal; readonly priority: number },
): { readonly ended: ReturnType<typeof outcome>; readonly answer: unknown } {
	switch (how) {
		case "stream":
			return {
				ended: outcome(Array.fromAsync(target.stream("count", 3, options))),
				answer: [0, 1, 2],
			};
		case "lease":
			return { ended: outcome(target.use(() => ms, options)), answer: ms };
		case "whoami":
			return {
				ended: outcome(target.execute("whoami", undefined, options)),
				answer: undefined,
			};
		default:
			return {
				ended: outcome(target.execute(how, ms, options)),
				answer: how === "work" ? undefined : ms,
			};
	}
}

test("where nothing fails, every call that its caller does not give up gets its answer, whatever is replaced, resized, paused and closed meanwhile", async () => {
	let answered = 0;
	await fc.assert(
		fc.asyncProperty(
			fc.array(step, { minLength: 5, maxLength: 40 }),
			fc.integer({ min: 1, max: 3 }),
			fc.integer({ min: 1, max: 2 }),
			fc.constantFrom(0, 150),
			fc.constantFrom(undefined, { gapMs: 0, answerMs: 0 }),
			async (steps, size, callsPerWorker, connectMs, prefetch) => {
				const { pool, clock, events, host } = await virtualPoolBench(
					{
						commands: scripts,
						connect: ({ number, process }) =>
							number > size ? process.sleep(connectMs) : undefined,
						...(prefetch === undefined ? {} : { prefetch }),
						client: ({ number }) => number,
					},
					{
						size: { min: size, max: 3, idleMs: 500 },
						callsPerWorker,
						recycle: { afterCalls: 7 },
					},
				);
				const all: Made[] = [];
				const sessions: PoolSession[] = [];
				const controls: ReturnType<typeof outcome>[] = [];
				const closed = new Set<PoolSession>();
				for (const happening of steps) {
					switch (happening.do) {
						case "calls":
							for (let n = 0; n < happening.count; n++) {
								const session = sessions.at(-happening.session);
								const used =
									happening.session === 0 ||
									session === undefined ||
									closed.has(session)
										? undefined
										: session;
								const abort = new AbortController();
								const { how, ms, priority } = happening;
								const { signal } = abort;
								const made = make(used ?? pool, how, ms, { signal, priority });
								all.push({ ...made, session: used, abort });
							}
							break;
						case "open":
							sessions.push(pool.session({ affinity: happening.affinity }));
							break;
						case "close": {
							const session = sessions[happening.which % sessions.length];
							if (session === undefined) break;
							session.close();
							closed.add(session);
							break;
						}
						case "abort":
							all[happening.which % all.length]?.abort.abort();
							break;
						case "wait":
							await clock.advance(happening.ms);
							break;
						default:
							controls.push(outcome(control(pool, happening)));
					}
				}
				const over = pool.close({ drainMs: 60_000 });
				await clock.advance(120_000);
				await over;
				const homes = new Map<PoolSession, unknown>();
				for (const { ended, answer, session, abort } of all) {
					const end = await ended;
					if (abort.signal.aborted && end.kind === "error") {
						expect(end.code).toBe("CALL_ABORTED");
						continue;
					}
					expect(end).toMatchObject({ kind: "value" });
					answered++;
					if (end.kind !== "value") continue;
					if (answer !== undefined) expect(end.value).toEqual(answer);
					else if (
						session?.affinity === "strict" &&
						typeof end.value === "string"
					) {
						expect(homes.get(session) ?? end.value).toBe(end.value);
						homes.set(session, end.value);
					}
				}
				expectControlled(await Promise.all(controls), []);
				for (const exit of events.of("worker.exited"))
					expect(exit.callsLost).toBe(0);
				expect(events.of("listener.threw")).toEqual([]);
				expect(host.living()).toHaveLength(0);
				expect(host.keptAlive).toBe(0);
				events.assertPaired();
			},
		),
		{ numRuns: rounds(1_000, 150), timeout: 20_000 },
	);
	expect(answered).toBeGreaterThan(100);
}, 600_000);
