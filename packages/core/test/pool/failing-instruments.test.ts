import { expect, test } from "vitest";
import type { Instrument } from "../../src/contract/instrument.ts";
import type { ScriptedCall } from "../../src/testing.ts";
import { scripts } from "../../src/testing.ts";
import { diary } from "./diary.ts";
import { closedVirtualPool, outcome, virtualPool } from "./virtual-pool.ts";

test("an instrument that throws wherever it can hurts no call, and every failure is reported", async () => {
	const fail = (): never => {
		throw new Error("mine");
	};
	const call = { queued: fail, retried: fail, settled: fail };
	const attempt = { backCall: fail, cancelled: fail, released: fail };
	const { pool, clock, close, events } = await virtualPool(
		{
			commands: {
				ask: ({ backCall }: ScriptedCall) =>
					backCall?.({ function: "f", traceContext: {} }, async () => "once"),
				hang: scripts.hang,
			},
		},
		{
			instruments: [
				{ attach: fail },
				{
					attach: () => ({
						hear: fail,
						measure: { dispatched: fail, released: fail, settled: fail },
						watch: fail,
						detach: fail,
						accept: () => ({
							...call,
							dispatched: () => ({ ...attempt, traceContext: { a: "b" } }),
						}),
					}),
				},
				{
					attach: () => ({
						hear: () => {},
						accept: () => ({ ...call, dispatched: fail }),
					}),
				},
				{ attach: () => ({ hear: () => {}, accept: fail }) },
			],
		},
	);
	expect(await pool.execute("ask")).toBe("once");
	const late = outcome(pool.execute("hang", 1, { timeoutMs: 50 }));
	const waiting = pool.execute("ask");
	await clock.advance(100);
	expect(await late).toMatchObject({ code: "CALL_TIMEOUT" });
	expect(await waiting).toBe("once");
	await close();
	const failed = new Set(events.of("listener.threw").map(({ of }) => of));
	for (const of of [
		...["accept", "dispatched", "queued", "backCall", "cancelled"],
		...["released", "settled", "watch", "detach", "measure"],
	])
		expect(failed).toContain(`instrument.${of}`);
	expect(failed).toContain("worker.ready");
});

test("a function that fails within a follower fails once, as itself", async () => {
	let ran = 0;
	const { pool, close } = await virtualPool(
		{
			commands: {
				ask: async ({ backCall }: ScriptedCall) =>
					await backCall?.({ function: "f", traceContext: {} }, async () => {
						ran++;
						throw new RangeError("no");
					}),
			},
		},
		{ instruments: [diary()] },
	);
	expect(await outcome(pool.execute("ask"))).toMatchObject({
		code: "TOOL_FAILED",
	});
	expect(ran).toBe(1);
	await close();
});

test("what is no instrument is refused at the door", () => {
	expect(() =>
		closedVirtualPool({}, { instruments: [{} as Instrument] }),
	).toThrow("must be an array of Instruments");
});
