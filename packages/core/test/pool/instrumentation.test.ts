import { AsyncLocalStorage } from "node:async_hooks";
import { expect, test } from "vitest";
import type {
	CallInstrument,
	Instrument,
} from "../../src/contract/instrument.ts";
import { resolveOptions } from "../../src/options/resolve-pool-options.ts";
import { EventHub } from "../../src/pool/observe/event-hub.ts";
import { Instrumentation } from "../../src/pool/observe/instrumentation.ts";
import { scriptedAdapter } from "../../src/testing/scripted-adapter.ts";
import {
	EventRecorder,
	type ScriptedCall,
	scripts,
} from "../../src/testing.ts";
import { closedVirtualPool, outcome, virtualPool } from "./virtual-pool.ts";

/** Records each of its calls. */
function diary(name = ""): Instrument & { readonly calls: string[] } {
	const calls: string[] = [];
	const record = (what: string): void => void calls.push(`${name}${what}`);
	const call: CallInstrument = {
		queued: () => record("queued"),
		dispatched: ({ attempt, workerId, pid }) => {
			record(`dispatched ${attempt} ${workerId} ${typeof pid}`);
			return {
				traceContext: { [`x${name}`]: `${attempt}` },
				backCall: async ({ function: of }, run) => {
					record(`back-call ${of}`);
					return await run();
				},
				cancelled: ({ code }) => record(`cancelled ${code}`),
				released: (error) => record(`released ${error?.code}`),
			};
		},
		retried: ({ code }) => record(`retried ${code}`),
		settled: (error) => record(`settled ${error?.code}`),
	};
	return {
		calls,
		attach: ({ name: pool, adapter }) => {
			record(`attach ${pool} ${adapter}`);
			return {
				hear: () => {},
				watch: (observed) =>
					record(`watch ${observed.look().workers.ready} ready`),
				accept: ({ command, shape, traceContext }) => {
					record(`accept ${command} ${shape} ${Object.keys(traceContext)}`);
					return call;
				},
				detach: () => record("detach"),
			};
		},
	};
}

test("an instrument follows a call from its acceptance to its settlement, through a retry", async () => {
	let crashes = 1;
	const instrument = diary();
	const { pool, clock, close } = await virtualPool(
		{
			commands: {
				sometimes: (call) =>
					crashes-- > 0 ? scripts.crash(call) : call.traceContext,
			},
		},
		{ instruments: [instrument] },
	);
	const call = pool.execute("sometimes", 1, {
		retry: { attempts: 2 },
		traceContext: { given: "1" },
	});
	await clock.advance(1_000);
	expect(await call).toEqual({ given: "1", x: "2" });
	await close();
	expect(instrument.calls).toEqual([
		"attach scripted scripted",
		"watch 0 ready",
		"accept sometimes unary given",
		"dispatched 1 scripted-0 number",
		"released WORKER_EXITED",
		"retried WORKER_EXITED",
		"queued",
		"dispatched 2 scripted-0 number",
		"released undefined",
		"settled undefined",
		"detach",
	]);
});

test("a call that is not followed travels with the headers of its instrument, beside those of its caller", async () => {
	const second = diary("second ");
	const passes: Instrument = {
		attach: () => ({
			hear: () => {},
			accept: () => ({ traceContext: { passed: "1" } }),
		}),
	};
	const commands = {
		headers: ({ traceContext }: ScriptedCall) => traceContext,
	};
	const given = { traceContext: { given: "1" } };
	const alone = await virtualPool({ commands }, { instruments: [passes] });
	expect(await alone.pool.execute("headers", 1, given)).toEqual({
		given: "1",
		passed: "1",
	});
	await alone.close();
	const both = await virtualPool(
		{ commands },
		{ instruments: [passes, second] },
	);
	expect(await both.pool.execute("headers", 1, given)).toEqual({
		given: "1",
		passed: "1",
		"xsecond ": "1",
	});
	await both.close();
	expect(second.calls).toContain("second settled undefined");
});

test("an instrument with measures gets them instead of the events of each call, and every other event", async () => {
	const measured: unknown[] = [];
	const heard = new Set<string>();
	const { pool, clock, close, events } = await virtualPool(
		{ commands: { work: scripts.work, hang: scripts.hang } },
		{
			instruments: [
				{
					attach: () => ({
						hear: ({ type }) => void heard.add(type),
						measure: {
							dispatched: (...of) => void measured.push(["dispatched", ...of]),
							released: (...of) => void measured.push(["released", ...of]),
							settled: (...of) => void measured.push(["settled", ...of]),
						},
					}),
				},
			],
		},
	);
	const calls = [pool.execute("work", 10), pool.execute("work", 10)];
	await clock.advance(20);
	await Promise.all(calls);
	const late = outcome(pool.execute("hang", 1, { timeoutMs: 50 }));
	await clock.advance(50);
	await late;
	await close();
	expect(measured.slice(0, 7)).toEqual([
		["dispatched", "work", 0, undefined],
		["released", "work", 10, undefined],
		["settled", "work", "succeeded", undefined, 10, undefined],
		["dispatched", "work", 10, undefined],
		["released", "work", 10, undefined],
		["settled", "work", "succeeded", undefined, 20, undefined],
		["dispatched", "hang", 0, undefined],
	]);
	expect(measured).toContainEqual([
		...["settled", "hang", "timed_out", "CALL_TIMEOUT", 50, undefined],
	]);
	const types = new Set(events.types());
	expect([...types].filter((type) => !heard.has(type)).sort()).toEqual([
		"call.accepted",
		"call.dispatched",
		"call.released",
		"call.settled",
	]);
});

test("an attempt whose caller left is followed to its own end", async () => {
	const instrument = diary();
	const { pool, clock, close } = await virtualPool(
		{ commands: { hang: scripts.hang, count: scripts.count } },
		{ instruments: [instrument] },
	);
	const late = outcome(pool.execute("hang", 1, { timeoutMs: 50 }));
	await clock.advance(100);
	expect(await late).toMatchObject({ code: "CALL_TIMEOUT" });
	for await (const item of pool.stream("count", 5)) if (item === 1) break;
	await close();
	expect(instrument.calls.slice(2, -1)).toEqual([
		"accept hang unary ",
		"dispatched 1 scripted-0 number",
		"cancelled CALL_TIMEOUT",
		"settled CALL_TIMEOUT",
		"released CALL_TIMEOUT",
		"accept count stream ",
		"dispatched 1 scripted-0 number",
		"cancelled CALL_ABORTED",
		"settled CALL_ABORTED",
		"released undefined",
	]);
});

test("a call is accepted in the asynchronous context of its caller, and so is a stream", async () => {
	const store = new AsyncLocalStorage<string>();
	const seen: unknown[] = [];
	const { pool } = await virtualPool(
		{ commands: { echo: scripts.echo, count: scripts.count } },
		{
			instruments: [
				{
					attach: () => ({
						hear: () => {},
						accept: () => void seen.push(store.getStore()),
					}),
				},
			],
		},
	);
	await store.run("a", () => pool.execute("echo", 1));
	const stream = store.run("b", () => pool.stream("count", 1));
	expect(await Array.fromAsync(stream)).toEqual([0]);
	expect(seen).toEqual(["a", "b"]);
});

test("several instruments follow the same call, and a back-call runs once within all of them", async () => {
	const first = diary("first ");
	const second = diary("second ");
	let ran = 0;
	const { pool } = await virtualPool(
		{
			commands: {
				ask: ({ backCall, traceContext }: ScriptedCall) =>
					backCall?.({ function: "f", traceContext }, async () => ++ran),
				headers: ({ traceContext }) => traceContext,
			},
		},
		{ instruments: [first, second] },
	);
	expect(await pool.execute("ask")).toBe(1);
	expect(await pool.execute("headers")).toEqual({
		"xfirst ": "1",
		"xsecond ": "1",
	});
	expect(first.calls).toContain("first back-call f");
	expect(second.calls).toContain("second back-call f");
});

test("what is followed can be looked at: states, load, memory and processor time", async () => {
	let look: (() => unknown) | undefined;
	const looks: unknown[] = [];
	await virtualPool(
		{ commands: {} },
		{
			size: 2,
			instruments: [
				{
					attach: () => ({
						hear: ({ type }) => {
							if (type === "pool.started") looks.push(look?.());
						},
						watch: (pool) => {
							look = () => [pool.name, pool.look(), pool.usage()];
						},
					}),
				},
			],
		},
	);
	expect(looks).toMatchObject([
		[
			"scripted",
			{ workers: { ready: 2 }, waiting: 0, running: 0, sessions: 0 },
			[{ workerId: "scripted-0" }, { workerId: "scripted-1" }],
		],
	]);
});

test("an instrument may leave out whatever it does not need", async () => {
	const bare: Instrument = { attach: () => ({ hear: () => {} }) };
	const { pool, events, close } = await virtualPool(
		{ commands: { echo: scripts.echo } },
		{ instruments: [bare] },
	);
	expect(await pool.execute("echo", 1)).toBe(1);
	await close();
	expect(events.of("listener.threw")).toEqual([]);
});

test("every instrument is asked to send what it observed, whatever another one does", async () => {
	let sent = 0;
	const instrument = (flush?: () => Promise<void>): Instrument => ({
		attach: () => ({ hear: () => {}, ...(flush && { flush }) }),
	});
	const { events, record } = new EventRecorder();
	const hub = new EventHub();
	hub.subscribe(record);
	const instruments = [
		instrument(),
		instrument(() => {
			throw new Error("no collector");
		}),
		instrument(() => Promise.reject(new Error("no collector"))),
		instrument(async () => void sent++),
	];
	const options = resolveOptions(
		{ adapter: scriptedAdapter(), instruments },
		2,
	);
	await Instrumentation.attach(options, hub, () => 0)?.flush();
	expect(sent).toBe(1);
	expect(events).toMatchObject([
		{ type: "listener.threw", of: "instrument.flush" },
	]);
});

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
	const { pool } = await virtualPool(
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
});

test("what is no instrument is refused at the door", () => {
	expect(() =>
		closedVirtualPool({}, { instruments: [{} as Instrument] }),
	).toThrow("must be an array of Instruments");
});
