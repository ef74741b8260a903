import { AlwaysOffSampler } from "@opentelemetry/sdk-trace";
import { afterEach, expect, test } from "vitest";
import { unregister } from "../support/memory-sdk.ts";
import { Receiver } from "./receiver.ts";
import { openTracedPool, PYTHON } from "./traced-pool.ts";

afterEach(unregister);

test("one trace goes from the caller into the Python tool, back into this program, and is received whole", {
	timeout: 90_000,
}, async () => {
	const receiver = await Receiver.start(PYTHON);
	const { pool, sdk } = await openTracedPool(receiver.url);
	expect(await pool.execute("price", { of: "tea" })).toBe(3);
	await sdk.tracers.forceFlush();
	await receiver.until("price");
	const call = await receiver.until("call price");
	await receiver.until("look up");
	expect(receiver.tree(call)).toBe(
		[
			"call price (@snakepit/telemetry)",
			"  attempt (@snakepit/telemetry)",
			"    price (snakepit_bridge)",
			"      look up (tools)",
			"        back-call catalogue (@snakepit/telemetry)",
		].join("\n"),
	);

	expect(await Array.fromAsync(pool.stream("count", { to: 2 }))).toEqual([
		0, 1,
	]);
	await sdk.tracers.forceFlush();
	await receiver.until("count");
	await receiver.until("item 1");
	expect(receiver.tree(await receiver.until("call count"))).toContain(
		"      item 0 (tools)\n      item 1 (tools)",
	);
});

test("what is not sampled here is not sampled there", {
	timeout: 90_000,
}, async () => {
	const receiver = await Receiver.start(PYTHON);
	const { pool } = await openTracedPool(receiver.url, new AlwaysOffSampler());
	expect(await pool.execute("price", { of: "tea" })).toBe(3);
	// The worker sends what it has before it ends.
	await pool.close();
	expect(receiver.spans).toEqual([]);
});

test("a receiver that is down hurts no call", { timeout: 90_000 }, async () => {
	const { pool } = await openTracedPool("http://127.0.0.1:9");
	expect(await pool.execute("price", { of: "tea" })).toBe(3);
	await expect(pool.execute("divide", { by: 0 })).rejects.toMatchObject({
		remote: { type: "ZeroDivisionError" },
	});
});
