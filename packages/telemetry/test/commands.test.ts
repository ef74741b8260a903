import { context, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { type ScriptedCall, scripts } from "@snakepit/core/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type TelemetryOptions, telemetry } from "../src/index.ts";
import { Commands, RateSampler } from "../src/options.ts";
import { mayTrace } from "../src/trace/call-trace.ts";
import { MemorySdk, unregister } from "./support/memory-sdk.ts";
import { FollowedPools } from "./trace/followed-pools.ts";

let sdk: MemorySdk;
const pools = new FollowedPools();
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(async () => {
	await pools.close();
	unregister();
});

const scripted = {
	echo: scripts.echo,
	headers: ({ traceContext }: ScriptedCall) => traceContext,
};
const NOT_SAMPLED = /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/;
const TRACE = "0af7651916cd43dd8448eb211c80319c";

/** A program's own trace, of which nothing is exported here. */
function within<T>(traceFlags: 0 | 1, run: () => T): T {
	const span = { traceId: TRACE, spanId: "b7ad6b7169203331", traceFlags };
	return context.with(trace.setSpanContext(context.active(), span), run);
}

test("a call that its command does not sample has no span, is not sampled in its worker, and is measured", async () => {
	const { pool, events } = await pools.open(scripted, {
		commands: { "*": { traces: 0 } },
	});
	const first = (await pool.execute("headers")) as Record<string, string>;
	const second = (await pool.execute("headers")) as Record<string, string>;
	expect(first["traceparent"]).toMatch(NOT_SAMPLED);
	expect(second["traceparent"]).toMatch(NOT_SAMPLED);
	expect(first["traceparent"]).not.toBe(second["traceparent"]);
	expect(events.of("call.settled")[0]).toMatchObject({ traceId: undefined });
	expect(await sdk.series("snakepit.call.duration")).toMatchObject([
		{ value: 2 },
	]);
	expect((await sdk.spans()).map(({ name }) => name)).not.toContain(
		"call headers",
	);
});

test("whatever the share is, a call is traced as its caller is", async () => {
	const { pool } = await pools.open(scripted, {
		commands: { "*": { traces: 0 }, echo: { traces: 1 } },
	});
	await within(1, () => pool.execute("headers"));
	const call = await sdk.span("call headers");
	expect(call.spanContext().traceId).toBe(TRACE);
	expect(await within(0, () => pool.execute("headers"))).toEqual({
		traceparent: `00-${TRACE}-b7ad6b7169203331-00`,
	});
	await within(0, () => pool.execute("echo", 1));
	const given = { traceparent: `00-${TRACE}-b7ad6b7169203331-00` };
	expect(await pool.execute("headers", 1, { traceContext: given })).toEqual(
		given,
	);
	const names = (await sdk.spans()).map(({ name }) => name);
	expect(names.filter((name) => name.startsWith("call"))).toEqual([
		"call headers",
	]);
});

test("baggage travels with a call that is not sampled", async () => {
	const { pool } = await pools.open(scripted, {
		commands: { headers: { traces: 0 } },
	});
	const baggage = propagation.createBaggage({ tenant: { value: "acme" } });
	const headers = await context.with(
		propagation.setBaggage(context.active(), baggage),
		() => pool.execute("headers"),
	);
	expect(headers).toEqual({
		baggage: "tenant=acme",
		traceparent: expect.stringMatching(NOT_SAMPLED),
	});
});

test("an entry takes what it leaves out from that of all others", async () => {
	const { pool } = await pools.open(scripted, {
		commands: { "*": { metrics: false, traces: 0 }, echo: { traces: 1 } },
	});
	await pool.execute("headers");
	await pool.execute("echo", 1);
	for (const metric of ["call.duration", "attempt.duration", "call.wait_time"])
		expect(await sdk.series(`snakepit.${metric}`)).toEqual([]);
	expect(await sdk.span("call echo")).toBeDefined();
	expect((await sdk.spans()).map(({ name }) => name)).not.toContain(
		"call headers",
	);
});

test("a share is decided by chance, where there is no caller's trace", () => {
	const sample = (traces: number, random: number): boolean => {
		const commands = new Commands({ echo: { traces } }, () => random);
		return mayTrace(commands.of("echo").sample, ROOT_CONTEXT);
	};
	expect(sample(0.1, 0.099)).toBe(true);
	expect(sample(0.1, 0.1)).toBe(false);
	expect(sample(0, 0)).toBe(false);
	expect(sample(1, 0.999)).toBe(true);
});

test("within a trace the caller decides, and without a share the SDK", () => {
	const never = (): boolean => expect.unreachable();
	const caller = (traceFlags: 0 | 1) =>
		trace.setSpanContext(ROOT_CONTEXT, {
			...{ traceId: TRACE, spanId: "b7ad6b7169203331", traceFlags },
		});
	expect(mayTrace(undefined, caller(0))).toBe(true);
	expect(mayTrace(never, caller(0))).toBe(false);
	expect(mayTrace(never, caller(1))).toBe(true);
});

test("a limit lets every call of a quiet command through, and of a busy one as many as it says", () => {
	let nowMs = 0;
	const limited = new RateSampler(
		20,
		() => 0.5,
		() => nowMs,
	);
	for (; nowMs < 10_000; nowMs += 100) expect(limited.sample()).toBe(true);
	const taken: number[] = [];
	// Nobody knows how busy the first second is; from the second one on, the chance of a call is 20 in 1,000.
	for (; nowMs < 13_000; nowMs++) if (limited.sample()) taken.push(nowMs);
	expect(taken).toEqual(Array.from({ length: 20 }, (_, ms) => 10_000 + ms));
	nowMs = 3_600_000;
	// It may be a few calls late.
	const later = Array.from({ length: 30 }, () => limited.sample());
	expect(later.indexOf(true)).toBeLessThan(16);
	expect(later.filter((is) => is).length).toBeGreaterThan(10);
});

test("with a limit each call of a busy command has the same chance", () => {
	let calls = 0;
	let nowMs = 0;
	const busy = new RateSampler(
		16,
		// Evenly spread chances.
		() => ((calls++ * 617) % 1_000) / 1_000,
		() => nowMs,
	);
	const taken: number[] = [];
	for (; nowMs < 2_000; nowMs++) if (busy.sample()) taken.push(nowMs);
	expect(taken.slice(0, 16)).toEqual(Array.from({ length: 16 }, (_, ms) => ms));
	const later = taken.slice(16);
	expect(later.length).toBeGreaterThan(10);
	expect(later.length).toBeLessThanOrEqual(16);
	expect(later.at(-1)).toBeGreaterThan(1_800);
});

test("each command has its own limit", () => {
	const commands = new Commands({ "*": { traces: { perSecond: 1 } } });
	const sampled = (command: string) => commands.of(command).sample?.();
	expect(["a", "a", "b"].map(sampled)).toEqual([true, false, true]);
	// Beyond a hundred they share one.
	for (let index = 0; index < 98; index++) sampled(`c${index}`);
	expect(["x", "y", "x"].map(sampled)).toEqual([true, false, false]);
});

test.each([
	[
		{ echo: { traces: 1.1 } },
		'commands "echo": "traces" must be a number from 0 to 1, or { perSecond: a whole number from 1 }, got 1.1',
	],
	[{ echo: { traces: Number.NaN } }, "must be a number from 0 to 1"],
	[{ echo: { traces: "off" } }, "must be a number from 0 to 1"],
	[{ echo: { traces: { perSecond: 0 } } }, "a whole number from 1"],
	[{ echo: { traces: { perSecond: 1.5 } } }, "a whole number from 1"],
	[{ echo: { traces: { perMinute: 1 } } }, "a whole number from 1"],
	[{ "*": { metrics: "off" } }, '"metrics" must be true or false'],
	[{ echo: { trace: 1 } }, 'Did you mean "traces"?'],
	[{ echo: 0.1 }, "the options must be an object"],
	[["echo"], "must be an object with an entry by command"],
])("%j is refused", (commands, message) => {
	expect(() => telemetry({ commands } as unknown as TelemetryOptions)).toThrow(
		message,
	);
});
