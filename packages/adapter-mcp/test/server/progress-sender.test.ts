import { expect, test } from "vitest";
import {
	type ProgressParameters,
	ProgressSender,
} from "../../src/server/call-tool.ts";

test("while a client is slow, only the newest report waits for it, and all are sent before the result", async () => {
	const sent: ProgressParameters[] = [];
	const slow = Promise.withResolvers<void>();
	const sender = new ProgressSender((parameters) => {
		sent.push(parameters);
		return slow.promise;
	}, "unary");
	for (const percent of [1, 2, 3])
		sender.report({ fraction: percent / 100, message: "" });
	expect(sent).toHaveLength(1);
	slow.resolve();
	await sender.sent();
	expect(sent.map(({ progress }) => progress)).toEqual([0.01, 0.03]);
});

test("a tool that goes back, or cannot say, sends messages with the smallest steps", async () => {
	const sent: ProgressParameters[] = [];
	const sender = new ProgressSender(async (parameters) => {
		sent.push(parameters);
	}, "unary");
	for (const fraction of [undefined, undefined, 0.5, 0.2, 1]) {
		sender.report({ fraction, message: "m" });
		await sender.sent();
	}
	expect(sent).toEqual([
		{ progress: 0, message: "m" },
		{ progress: 1e-6, message: "m" },
		{ progress: 0.5, total: 1, message: "m" },
		{ progress: 0.500001, total: 1, message: "m" },
		{ progress: 1, total: 1, message: "m" },
	]);
});

test("reports of a stream are counted with its chunks", async () => {
	const sent: ProgressParameters[] = [];
	const sender = new ProgressSender(async (parameters) => {
		sent.push(parameters);
	}, "stream");
	await sender.chunk("a");
	sender.report({ fraction: 0.5, message: "half" });
	await sender.sent();
	await sender.chunk("b");
	expect(sent).toEqual([
		{ progress: 1, message: "a" },
		{ progress: 2, message: "half" },
		{ progress: 3, message: "b" },
	]);
});

test("a client that disconnects is not a failure", async () => {
	const sender = new ProgressSender(async () => {
		throw new Error("not connected");
	}, "unary");
	sender.report({ fraction: 0.5, message: "" });
	await expect(sender.sent()).resolves.toBeUndefined();
});
