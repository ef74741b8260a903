import { expect, test } from "vitest";
import type { AttemptInstrument, Instrument } from "../../src/instrument.ts";
import { type ScriptedCall, scripts } from "../../src/testing.ts";
import { type VirtualPool, virtualPool } from "./virtual-pool.ts";

type Target = VirtualPool["pool"];

/** A pool that knows its tool to be quick. */
async function quickPool(
	work: (call: ScriptedCall) => unknown,
	options: Parameters<typeof virtualPool>[1] = {},
	size = 1,
): Promise<VirtualPool> {
	const opened = await virtualPool(
		{ commands: { work }, ahead: { gapMs: 0 } },
		{ size, ...options },
	);
	const first = opened.pool.execute("work", 0);
	await opened.clock.advance(10);
	await first;
	return opened;
}

test.each(["hint", "strict"] as const)(
	"calls of a session (%s) are sent ahead where the session is, and nowhere else",
	async (affinity) => {
		const ranOn: string[] = [];
		const work = (call: ScriptedCall): unknown => {
			ranOn.push(call.worker.slot.workerId);
			return scripts.work(call);
		};
		const { pool, clock, adapter, close } = await quickPool(work, {}, 2);
		const session = pool.session({ affinity });
		const first = session.execute("work", 0);
		await clock.advance(10);
		await first;
		const home = ranOn.at(-1);
		ranOn.length = 0;
		// Both workers are busy, so that a call of the session waits for its own.
		const calls = Array.from({ length: 2 }, () => pool.execute("work", 1));
		const ofSession = Array.from({ length: 3 }, () =>
			session.execute("work", 1),
		);
		const waiting = adapter.workers.map(
			({ slot, mostCallsWaiting }) =>
				[slot.workerId, mostCallsWaiting] as const,
		);
		expect(waiting).toContainEqual([home, 3]);
		expect(waiting.filter(([, most]) => most > 0)).toHaveLength(1);
		await clock.advance(100);
		await Promise.all([...calls, ...ofSession]);
		expect(ranOn.filter((id) => id === home)).toHaveLength(4);
		await close();
	},
);

test("a call of a session that has no worker yet is not sent ahead", async () => {
	const { pool, clock, adapter, close } = await quickPool(scripts.work);
	const calls = [pool.execute("work", 1)];
	const session = pool.session({ affinity: "strict" });
	calls.push(session.execute("work", 1));
	expect(adapter.workers[0]?.mostCallsWaiting).toBe(0);
	await clock.advance(100);
	await Promise.all(calls);
	await close();
});

test("a strict session whose worker dies loses the calls that waited there", async () => {
	const { pool, clock, adapter, close } = await quickPool(scripts.work);
	const session = pool.session({ affinity: "strict" });
	const first = session.execute("work", 0);
	await clock.advance(10);
	await first;
	const calls = Array.from({ length: 4 }, () =>
		session.execute("work", 1).catch((error: unknown) => error),
	);
	expect(adapter.workers[0]?.mostCallsWaiting).toBe(3);
	adapter.living()[0]?.crash();
	await clock.advance(1_000);
	const [head, ...behind] = await Promise.all(calls);
	expect(head).toMatchObject({ ran: "maybe" });
	for (const error of behind)
		expect(error).toMatchObject({ code: "SESSION_LOST", ran: "no" });
	await close();
});

/** Records what it is called with. */
function followed(sentAhead?: () => Record<string, string>): {
	readonly instrument: Instrument;
	readonly dispatched: string[];
} {
	const dispatched: string[] = [];
	const attempt: AttemptInstrument = {
		traceContext: { of: "attempt" },
		backCall: (_, run) => run(),
		cancelled: () => {},
		released: () => {},
	};
	const instrument: Instrument = {
		attach: () => ({
			hear: () => {},
			accept: () => ({
				queued: () => {},
				dispatched: ({ ahead }) => {
					dispatched.push(ahead ? "ahead" : "to run");
					return attempt;
				},
				retried: () => {},
				settled: () => {},
				...(sentAhead && { sentAhead }),
			}),
		}),
	};
	return { instrument, dispatched };
}

async function fourCalls(
	{ pool, clock }: Awaited<ReturnType<typeof quickPool>>,
	target: Target = pool,
): Promise<unknown[]> {
	const calls = Array.from({ length: 4 }, () => target.execute("work", 1));
	await clock.advance(100);
	return await Promise.all(calls);
}

/** Answers with the headers that came with the call. */
const headersOf = async (call: ScriptedCall): Promise<unknown> => {
	await scripts.work(call);
	return call.traceContext;
};

test("an instrument that has headers without an attempt follows calls that are sent ahead", async () => {
	const { instrument, dispatched } = followed(() => ({ of: "call" }));
	const opened = await quickPool(headersOf, { instruments: [instrument] });
	expect(await fourCalls(opened)).toEqual([
		{ of: "attempt" },
		...Array(3).fill({ of: "call" }),
	]);
	expect(opened.adapter.workers[0]?.mostCallsWaiting).toBe(3);
	expect(dispatched).toEqual(["to run", "to run", "ahead", "ahead", "ahead"]);
	await opened.close();
});

test("one instrument that has none keeps calls from being sent ahead", async () => {
	const one = followed(() => ({ of: "call" }));
	const other = followed();
	for (const instruments of [
		[one.instrument, other.instrument],
		[other.instrument, one.instrument],
	]) {
		const opened = await quickPool(headersOf, { instruments });
		expect(await fourCalls(opened)).toEqual(Array(4).fill({ of: "attempt" }));
		expect(opened.adapter.workers[0]?.mostCallsWaiting).toBe(0);
		await opened.close();
	}
});

test("a call that asks for something has begun, whatever the host knew", async () => {
	const { instrument, dispatched } = followed(() => ({ of: "call" }));
	const opened = await quickPool(
		async (call) => {
			await scripts.work(call);
			return await call.backCall?.(
				{ function: "f", traceContext: {} },
				async () => dispatched.length,
			);
		},
		{ instruments: [instrument] },
	);
	expect(await fourCalls(opened)).toEqual([2, 3, 4, 5]);
	await opened.close();
});
