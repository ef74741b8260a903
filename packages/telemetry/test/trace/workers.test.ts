import { SpanStatusCode, trace } from "@opentelemetry/api";
import { scripts, virtualPool } from "@snakepit/core/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { telemetry } from "../../src/index.ts";
import {
	MemorySdk,
	milliseconds,
	tree,
	unregister,
} from "../support/memory-sdk.ts";

let sdk: MemorySdk;
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(unregister);

test("the span of a pool's start is a child of its creator's span, and contains each worker's start and its phases", async () => {
	const { close } = await trace
		.getTracer("test")
		.startActiveSpan("boot", async (span) => {
			const made = await virtualPool(
				{ commands: scripts, launchPayload: {} },
				{ size: 2, instruments: [telemetry()] },
			);
			span.end();
			return made;
		});
	const start = await sdk.span("pool start");
	expect(start.attributes).toEqual({
		"snakepit.pool.name": "scripted",
		"snakepit.adapter": "scripted",
		"snakepit.pool.workers": 2,
	});
	const lines = tree(await sdk.spans(), start).split("\n");
	expect(lines.slice(0, 2)).toEqual(["boot", "  pool start"]);
	const worker = [
		"    worker start",
		"      worker spawn",
		"      worker launch",
		"      worker connect",
	];
	expect([...lines.slice(2)].sort()).toEqual([...worker, ...worker].sort());
	await close();
});

test("the phases of a start follow each other, and fill it", async () => {
	const { close } = await virtualPool(
		{
			commands: scripts,
			launchPayload: {},
			boot: (process) => process.sleep(0),
		},
		{ instruments: [telemetry()] },
	);
	const [start, spawn, launch, connect] = await Promise.all(
		["worker start", "worker spawn", "worker launch", "worker connect"].map(
			(name) => sdk.span(name),
		),
	);
	if (!start || !spawn || !launch || !connect)
		throw new Error("a span is missing");
	expect(milliseconds(spawn.startTime)).toBe(milliseconds(start.startTime));
	expect(milliseconds(launch.startTime)).toBe(milliseconds(spawn.endTime));
	expect(milliseconds(connect.startTime)).toBe(milliseconds(launch.endTime));
	expect(milliseconds(connect.endTime)).toBe(milliseconds(start.endTime));
	await close();
});

test("a start that fails says why", async () => {
	await expect(
		virtualPool(
			{ commands: {}, boot: (process) => process.exit(3) },
			{ instruments: [telemetry()] },
		),
	).rejects.toThrow();
	// The pool fails with the error of its worker, which is recorded once.
	for (const [name, events] of [
		["worker start", ["exception"]],
		["pool start", []],
	] as const) {
		const span = await sdk.span(name);
		expect(span.status.code).toBe(SpanStatusCode.ERROR);
		expect(span.events.map((event) => event.name)).toEqual(events);
	}
});

test("the end of a pool has the ends of its workers in it, rung by rung", async () => {
	const { close } = await virtualPool(
		{ commands: scripts },
		{ instruments: [telemetry()] },
	);
	await close();
	const end = await sdk.span("pool close");
	expect(tree(await sdk.spans(), end)).toBe("pool close\n  worker stop");
	const stop = await sdk.span("worker stop");
	expect(stop.attributes).toMatchObject({
		"snakepit.worker.end.reason": "closed",
		"process.exit.code": 0,
	});
	expect(stop.attributes).not.toHaveProperty("error.type");
	expect(
		stop.events.map(
			({ attributes }) => attributes?.["snakepit.worker.stop.step"],
		),
	).toContain("leave");
});

test("a hung worker's stop is an error, and the restart is linked to it", async () => {
	let answers = 1;
	const { clock, close } = await virtualPool(
		{
			commands: scripts,
			ping: () =>
				answers-- > 0 ? { callsRunning: 0 } : new Promise(() => undefined),
		},
		{
			instruments: [telemetry()],
			heartbeat: {
				intervalMs: 1_000,
				hungAfterMs: 3_000,
			},
		},
	);
	await clock.advance(8_000);
	answers = Number.POSITIVE_INFINITY;
	await clock.advance(20_000);
	const stop = await sdk.span("worker stop");
	expect(stop.attributes).toMatchObject({
		"error.type": "hung",
		"snakepit.worker.end.reason": "hung",
	});
	expect(stop.status.code).toBe(SpanStatusCode.ERROR);
	const restart = (await sdk.spans())
		.filter(({ name }) => name === "worker start")
		.find(({ attributes }) => "snakepit.worker.replaces" in attributes);
	expect(restart?.links).toMatchObject([
		{
			context: { spanId: stop.spanContext().spanId },
			attributes: { "snakepit.link": "stopped worker" },
		},
	]);
	await close();
});

test("a worker that dies by itself has a span with its last lines, to which the next start and the lost call are linked", async () => {
	const { pool, clock, close } = await virtualPool(
		{ commands: scripts, boot: (process) => process.write("the last words") },
		{ instruments: [telemetry()] },
	);
	const lost = pool.execute("crash").catch(() => undefined);
	await clock.advance(5_000);
	await lost;
	const [death, attempt] = await Promise.all(
		["worker death", "attempt crash"].map((name) => sdk.span(name)),
	);
	expect(death?.status.code).toBe(SpanStatusCode.ERROR);
	expect(death?.attributes).toMatchObject({
		"snakepit.worker.id": "scripted-0",
		"snakepit.worker.end.reason": "exited",
		"snakepit.worker.exit.signal": "SIGSEGV",
		"snakepit.worker.calls_lost": 1,
		"snakepit.worker.tail": ["the last words"],
	});
	const toAttempt = {
		context: { spanId: attempt?.spanContext().spanId },
		attributes: { "snakepit.link": "failed attempt" },
	};
	expect(death?.links).toMatchObject([toAttempt]);
	const restart = (await sdk.spans()).find(
		({ attributes }) => "snakepit.worker.replaces" in attributes,
	);
	expect(restart?.links).toMatchObject([
		{
			context: { spanId: death?.spanContext().spanId },
			attributes: { "snakepit.link": "stopped worker" },
		},
		toAttempt,
	]);
	await close();
});
