import { once } from "node:events";
import { request } from "node:http";
import { afterEach, expect, test } from "vitest";
import { unregister } from "../support/memory-sdk.ts";
import { Receiver } from "./receiver.ts";
import { openTracedPool, PYTHON } from "./traced-pool.ts";

afterEach(unregister);

test("what a tool measures and logs is received, the record in the tool's span", {
	timeout: 90_000,
}, async () => {
	const receiver = await Receiver.start(PYTHON);
	const { pool } = await openTracedPool(receiver.url);
	await pool.execute("weigh", { kilograms: 3 });
	const tool = await receiver.until("weigh");
	const resource = { "service.name": "workers" };
	expect(tool).toMatchObject({ resource });
	expect(await receiver.untilPoint("weighed")).toMatchObject({
		resource,
		scope: "tools",
		unit: "kg",
		kind: "sum",
		value: 3,
		attributes: { of: "tea" },
	});
	expect(await receiver.untilPoint("weights")).toMatchObject({
		kind: "histogram",
		value: 1,
		boundaries: [1, 10],
	});
	expect(
		await receiver.untilRecord(({ body }) => body === "weighed 3 kg"),
	).toMatchObject({
		resource,
		eventName: "",
		severity: "WARN",
		traceId: tool.traceId,
		spanId: tool.spanId,
	});
});

test("an export that comes in chunks, as from Node's exporters, is received as well", async () => {
	const receiver = await Receiver.start(PYTHON);
	const body = [...`[${JSON.stringify({ signal: "span", name: "cut" })}]`];
	const sending = request(`${receiver.url}/v1/traces`, {
		method: "POST",
		headers: { "content-type": "application/json" },
	});
	const answered = once(sending, "response");
	for (const letter of body) sending.write(letter);
	sending.end();
	const [answer] = await answered;
	answer.resume();
	expect(answer.statusCode).toBe(200);
	expect(await receiver.until("cut")).toEqual({ signal: "span", name: "cut" });
});
