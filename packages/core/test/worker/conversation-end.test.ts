import { describe, expect, test } from "vitest";
import { staysPut } from "../../src/testing/scripted-adapter.ts";
import { endOfConversation } from "../../src/worker/worker.ts";
import { Call, readyScene, startingScene } from "./worker-scenes.ts";

/** A call that the adapter may still answer. */
class Awaited extends Call {
	override expectsAnswer = true;
}

const conversing = { launch: { stdio: "adapter" as const } };

describe("a conversation that has ended", () => {
	test.each([
		["leaves", { leave: staysPut }, ["leave"]],
		["is asked to end by SIGTERM", { leave: false as const }, ["terminate"]],
	])(
		"while its worker %s is expected: it is not hurried, and not judged",
		async (_what, script, before) => {
			const { worker, process, clock, events } = await readyScene(script);
			process.on("SIGTERM", () => {});
			worker.retire("closed");
			await clock.settle();
			worker.conversationOver("it ended");
			await clock.advance(2_400);
			expect(process.alive).toBe(true);
			const steps = events.of("worker.stop_step").map(({ step }) => step);
			expect(steps).toEqual(before);
			expect(events.of("worker.condemned")).toEqual([]);
			process.exit(0);
			await clock.advanceUntil(worker.gone);
			expect(events.of("worker.exited")).toMatchObject([{ reason: "closed" }]);
		},
	);

	test("while its worker is to write its stacks does not cut that short", async () => {
		const { worker, process, clock } = await readyScene({
			launch: { dumpSignal: "SIGUSR1" },
		});
		process.ignore("SIGUSR1");
		worker.condemn("hung", "it is silent");
		await clock.settle();
		worker.conversationOver("it ended");
		await clock.advance(249);
		expect(process.alive).toBe(true);
		await clock.advance(1);
		expect(process.alive).toBe(false);
	});

	test("of a worker that ends by itself, as it announced, leaves it its grace", async () => {
		const { worker, process, clock, events } = await readyScene();
		const call = new Awaited();
		worker.calls.add(call);
		worker.retire("leaving");
		worker.conversationOver("it ended");
		await clock.advance(2_400);
		expect(process.alive).toBe(true);
		// Its call got no answer for a second.
		expect(call.losses).toMatchObject([{ code: "WORKER_EXITED" }]);
		process.exit(0);
		await clock.advanceUntil(worker.gone);
		expect(events.of("worker.exited")).toMatchObject([
			{ reason: "exited", killer: "none", callsLost: 1 },
		]);
	});
});

describe("output that ends", () => {
	test("is not an end if it does not belong to the conversation", async () => {
		const { worker, process, clock, events } = await readyScene();
		process.output.stdout.end();
		await clock.advance(600_000);
		expect(worker.hasCapacity).toBe(true);
		expect(events.of("worker.condemned")).toEqual([]);
	});

	test("takes the worker's room for calls at once", async () => {
		const { worker, process, clock, reported } = await readyScene(conversing);
		process.output.stdout.resume();
		process.output.stdout.end();
		await clock.settle();
		expect(worker.hasCapacity).toBe(false);
		expect(reported).toEqual(["offered", "withdrawn"]);
		expect(worker.state).toBe("ready");
	});

	test("is not reported for a worker that ends with it", async () => {
		const { worker, process, clock, events } = await readyScene(conversing);
		process.output.stdout.resume();
		process.output.stdout.end();
		await clock.advance(99);
		process.exit(3);
		await clock.advanceUntil(worker.gone);
		await clock.advance(10_000);
		expect(events.of("worker.condemned")).toEqual([]);
		expect(clock.pending()).toBe(0);
	});

	test("is the end of a worker that runs on: by itself, by SIGTERM, or by SIGKILL in the end", async () => {
		const { worker, process, clock, events } = await readyScene(conversing);
		process.on("SIGTERM", () => {});
		const call = new Awaited();
		worker.calls.add(call);
		process.output.stdout.resume();
		process.output.stdout.end();
		await clock.advance(100);
		expect(events.of("worker.condemned")).toMatchObject([
			{
				reason: "broken",
				message: expect.stringContaining("it closed its standard output"),
			},
		]);
		await clock.advance(999);
		expect(call.losses).toEqual([]);
		await clock.advance(1);
		expect(call.losses).toMatchObject([
			{
				code: "WORKER_EXITED",
				ran: "maybe",
				message: expect.stringMatching(
					/cannot answer this call any more: .*standard output but still runs/,
				),
			},
		]);
		await clock.advanceUntil(worker.gone);
		expect(clock.now()).toBe(5_100);
		const steps = events.of("worker.stop_step").map(({ step }) => step);
		expect(steps).toEqual(["terminate", "kill"]);
		expect(events.of("worker.exited")).toMatchObject([
			{ reason: "broken", killer: "stop_ladder", callsLost: 1 },
		]);
	});

	test("and that its adapter reports explains less than the exit that follows", async () => {
		const { worker, process, clock } = await readyScene(conversing);
		const call = new Call();
		worker.calls.add(call);
		process.output.stdout.resume();
		process.output.stdout.end();
		await clock.settle();
		worker.conversationOver("it has ended its output");
		await clock.advance(999);
		expect(call.losses).toEqual([]);
		process.exit(7);
		await clock.advanceUntil(worker.gone);
		expect(call.losses).toMatchObject([
			{
				code: "WORKER_EXITED",
				message: expect.stringContaining(
					"exited with code 7 while it ran this call",
				),
			},
		]);
		expect(clock.pending()).toBe(0);
	});

	test("before the worker is ready is the end of its start", async () => {
		const { worker, process, clock } = await startingScene(conversing);
		process.output.stdout.resume();
		process.output.stdout.end();
		await clock.advance(100);
		expect(process.alive).toBe(false);
		expect(worker.cause.reason).toBe("start_failed");
	});
});

describe("the last answers of a worker that has ended", () => {
	test("are awaited until the adapter has read its output, and a second more", async () => {
		const { worker, process, clock } = await readyScene(conversing);
		const call = new Awaited();
		worker.calls.add(call);
		process.output.stdout.write("an answer that nobody reads yet");
		process.exit(0);
		await clock.advance(5_000);
		expect(call.losses).toEqual([]);
		process.output.stdout.resume();
		await clock.advance(999);
		expect(call.losses).toEqual([]);
		await clock.advance(1);
		expect(call.losses).toHaveLength(1);
		await worker.gone;
	});

	test("are awaited ten seconds at most while the adapter lets them wait", async () => {
		const { worker, process, clock } = await readyScene(conversing);
		const call = new Awaited();
		worker.calls.add(call);
		process.output.stdout.write("an answer that nobody reads ever");
		process.exit(0);
		await clock.advanceUntil(worker.gone);
		expect(clock.now()).toBe(11_000);
		expect(call.losses).toHaveLength(1);
	});

	test("are awaited for two seconds when something else holds the output open", async () => {
		const { worker, process, clock } = await readyScene(conversing);
		const call = new Awaited();
		worker.calls.add(call);
		process.fork((child) => child.idle(), { newGroup: true });
		await clock.settle();
		process.output.stdout.resume();
		process.exit(0);
		await clock.advanceUntil(worker.gone);
		// One for its output, and one for the adapter.
		expect(clock.now()).toBe(2_000);
	});

	test("that arrive free the worker at once", async () => {
		const { worker, process, clock } = await readyScene();
		const calls = [new Awaited(), new Awaited()];
		for (const call of calls) worker.calls.add(call);
		process.exit(0);
		await clock.advance(500);
		for (const call of calls) worker.finish(call, "answered");
		await clock.settle();
		await worker.gone;
		expect(clock.now()).toBe(500);
		expect(calls.flatMap(({ losses }) => losses)).toEqual([]);
		expect(clock.pending()).toBe(0);
	});

	test("are not awaited for calls that expect none", async () => {
		const { worker, process, clock } = await readyScene(conversing);
		const call = new Call();
		worker.calls.add(call);
		process.output.stdout.write("an answer that nobody reads ever");
		process.exit(0);
		await clock.advanceUntil(worker.gone);
		expect(clock.now()).toBe(0);
		expect(call.losses).toHaveLength(1);
	});
});

test("a conversation that ends is followed by an end in order only where the worker leaves by itself, or its output has ended", () => {
	const manner = (...given: Parameters<typeof endOfConversation>): string =>
		endOfConversation(...given).manner;
	expect(manner("draining", "exited", false)).toBe("ending");
	expect(manner("ready", undefined, true)).toBe("ending");
	expect(manner("draining", "recycled", false)).toBe("waiting");
	expect(manner("ready", "exited", false)).toBe("waiting");
	expect(endOfConversation("starting", undefined, true)).toEqual({
		reason: "start_failed",
		manner: "forced",
	});
});
