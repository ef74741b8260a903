import { ConnectionBrokenError } from "@snakepit/core/adapter";
import type {
	AttemptInstrument,
	CallInstrument,
} from "@snakepit/core/instrument";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { telemetry } from "../../src/index.ts";
import { MemorySdk, milliseconds, unregister } from "../support/memory-sdk.ts";

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["Date", "performance"] });
});
afterEach(() => {
	vi.useRealTimers();
	unregister();
});

const worker = {
	pool: "python",
	workerId: "python-0",
	incarnation: "i-1",
	attempt: 1,
	pid: 7,
} as const;

/** A call that is prefetched, and what is followed of it. */
function prefetched(): {
	readonly sdk: MemorySdk;
	readonly call: CallInstrument;
	readonly headers: Readonly<Record<string, string>>;
	readonly dispatch: () => AttemptInstrument;
} {
	const sdk = new MemorySdk().register();
	const pool = telemetry().attach({
		name: "python",
		adapter: "python",
		report: () => {},
	});
	const call = pool.accept?.({
		pool: "python",
		callId: "c1",
		command: "echo",
		shape: "unary",
		args: undefined,
		sessionId: undefined,
		traceContext: {},
	});
	if (call?.dispatched === undefined || call.prefetched === undefined)
		throw new TypeError("it is not followed");
	const headers = call.prefetched();
	return {
		sdk,
		call,
		headers,
		dispatch: () => call.dispatched({ ...worker, prefetched: true }),
	};
}

test("the attempt of a call that was prefetched begins and ends when the worker says", async () => {
	const { sdk, call, headers, dispatch } = prefetched();
	const attempt = dispatch();
	vi.advanceTimersByTime(30);
	attempt.released(undefined, { beganAgoMs: 20, ranMs: 5 });
	call.settled(undefined);
	const span = await sdk.span("attempt echo");
	const parent = await sdk.span("call echo");
	const { traceId, spanId } = parent.spanContext();
	expect(headers).toEqual({ traceparent: `00-${traceId}-${spanId}-01` });
	expect(span.parentSpanContext?.spanId).toBe(spanId);
	const began = milliseconds(span.startTime);
	const ended = milliseconds(span.endTime);
	expect(began - milliseconds(parent.startTime)).toBeCloseTo(10, 2);
	expect(ended - began).toBeCloseTo(5, 2);
	expect(milliseconds(parent.endTime) - ended).toBeCloseTo(15, 2);
});

test("without the worker's word it begins when the answer before it is there", async () => {
	const { sdk, call, dispatch } = prefetched();
	vi.advanceTimersByTime(20);
	const attempt = dispatch();
	const lost = new ConnectionBrokenError({ ran: "maybe", message: "it broke" });
	attempt.released(lost, undefined);
	call.settled(lost);
	const span = await sdk.span("attempt echo");
	const parent = await sdk.span("call echo");
	expect(
		milliseconds(span.startTime) - milliseconds(parent.startTime),
	).toBeCloseTo(20, 2);
	expect(span.attributes).toMatchObject({ "error.type": lost.code });
});

test("one that asks for something has its span from then on", async () => {
	const { sdk, call, dispatch } = prefetched();
	const attempt = dispatch();
	await attempt.backCall({ function: "f", traceContext: {} }, async () => 1);
	attempt.released(undefined, { beganAgoMs: 1, ranMs: 1 });
	call.settled(undefined);
	const span = await sdk.span("attempt echo");
	const back = await sdk.span("back-call f");
	expect(back.parentSpanContext?.spanId).toBe(span.spanContext().spanId);
	expect(milliseconds(span.endTime)).toBeGreaterThanOrEqual(
		milliseconds(back.endTime),
	);
});
