import { describe, expect, test } from "vitest";
import { Call, readyScene } from "./worker-scenes.ts";

describe("a call whose worker is gone", () => {
	test.each([
		["hung", "WORKER_HUNG"],
		["stuck", "WORKER_REPLACED"],
		["broken", "WORKER_EXITED"],
		["closed", "WORKER_EXITED"],
	] as const)(
		"because it was %s fails with %s, and the verdict",
		async (reason, code) => {
			const { worker, clock } = await readyScene();
			const call = new Call();
			worker.calls.add(call);
			worker.condemn(reason, "the verdict says so");
			await clock.advanceUntil(worker.gone);
			expect(call.losses).toMatchObject([
				{
					name: "WorkerLostError",
					code,
					ran: "maybe",
					message: expect.stringContaining(
						`Worker scripted-0 (pid ${worker.pid}) was ended by SIGKILL because the verdict says so while it ran this call`,
					),
				},
			]);
		},
	);

	test.each([
		[{ kind: "code", code: 1 } as const, "exited with code 1 while"],
		[
			{ kind: "signal", signal: "SIGSEGV" } as const,
			"was ended by SIGSEGV while",
		],
	])(
		"because it died by itself fails with its exit: %j",
		async (exit, words) => {
			const { worker, process, clock } = await readyScene();
			const call = new Call();
			worker.calls.add(call);
			process.die(exit);
			await clock.advanceUntil(worker.gone);
			expect(call.losses).toMatchObject([
				{
					code: "WORKER_EXITED",
					message: expect.stringMatching(
						new RegExp(`${words} it ran this call.*\\(retry\\)`),
					),
				},
			]);
		},
	);

	test("fails with its last lines, also those that were read after its death", async () => {
		const { worker, process, clock } = await readyScene({});
		const call = new Call();
		worker.calls.add(call);
		process.write("loading");
		process.write("Traceback (most recent call last):", "stderr");
		process.output.stderr.write("MemoryError"); // No line break any more.
		process.exit(1);
		await clock.advanceUntil(worker.gone);
		expect(call.losses[0]?.message).toMatch(
			/\nIts last lines:\n {2}\| loading\n {2}\| Traceback \(most recent call last\):\n {2}\| MemoryError$/,
		);
	});

	test("is lost once; one that finished in time, or between death and last output, is not", async () => {
		const { worker, process, clock, events } = await readyScene(
			{},
			{ callsPerWorker: 3 },
		);
		const [before, between, lost] = [new Call(), new Call(), new Call()];
		for (const call of [before, between, lost]) worker.calls.add(call);
		worker.finish(before, "answered");
		process.fork((child) => child.idle(), { newGroup: true }); // Holds the output open.
		await clock.settle();
		process.exit(1);
		await clock.advance(50);
		expect(worker.state).toBe("exited");
		worker.finish(between, "answered");
		await clock.advanceUntil(worker.gone);
		expect(worker.calls.attempts.length).toBe(0);
		worker.finish(lost, "answered");
		expect([before, between, lost].map(({ losses }) => losses.length)).toEqual([
			0, 0, 1,
		]);
		expect(events.of("worker.exited")).toMatchObject([{ callsLost: 1 }]);
	});
});
