import { once } from "node:events";
import { PassThrough } from "node:stream";
import { beforeEach, describe, expect, test } from "vitest";
import type { Connection } from "../../src/contract/connection.ts";
import { StartError } from "../../src/contract/errors.ts";
import type { StartedProcess } from "../../src/contract/world.ts";
import type { FakeProcess } from "../../src/testing/fake-process.ts";
import {
	type Handshake,
	raceToReady,
} from "../../src/worker/worker-starter.ts";
import { workerBench } from "./worker-bench.ts";

const TIMEOUT_MS = 1_000;

let bench: ReturnType<typeof workerBench>;
let started: StartedProcess;
let process: FakeProcess;
beforeEach(async () => {
	bench = workerBench();
	bench.host.install("program", (self) => self.idle());
	started = await bench.host.source.start(
		{
			executable: "program",
			args: [],
			env: {},
			cwd: undefined,
			stdin: "empty",
			control: false,
		},
		() => undefined,
	);
	process = bench.host.started[0] as FakeProcess;
});

/** Runs the race, and says what came of it. Time has to pass in the meantime. */
function race(
	steps: (signal: AbortSignal) => Promise<Handshake>,
): Promise<Handshake | StartError> {
	return raceToReady(
		bench.addWorker(),
		started,
		TIMEOUT_MS,
		bench.clock,
		steps,
	).catch((error) => error);
}

/** A connection that reports when it is closed. */
function handshake(
	close: () => Promise<void> = async () => undefined,
): Handshake & { readonly closed: number } {
	let closed = 0;
	const connection: Connection = {
		execute: () => expect.unreachable(),
		[Symbol.asyncDispose]: async () => {
			closed++;
			await close();
		},
	};
	return {
		connection,
		ready: { name: "x" },
		launchedMs: 0,
		get closed() {
			return closed;
		},
	};
}

const channelClosed = (): StartError =>
	new StartError({
		code: "WORKER_EXITED_EARLY",
		message: "closed its control channel",
	});

test("a worker that is ready in time wins, and nothing of the race is left", async () => {
	const made = handshake();
	expect(await bench.clock.advanceUntil(race(async () => made))).toBe(made);
	expect(bench.clock.pending()).toBe(0);
	process.exit(0);
	await bench.clock.advance(10_000);
	expect(made.closed).toBe(0);
});

describe("the deadline", () => {
	test("ends the start, names the option, and aborts the steps", async () => {
		let signal: AbortSignal | undefined;
		const outcome = await bench.clock.advanceUntil(
			race((given) => {
				signal = given;
				return new Promise(() => undefined);
			}),
		);
		expect(outcome).toMatchObject({
			code: "START_TIMEOUT",
			ran: "no",
			message: expect.stringContaining(
				"not ready within 1000 ms. If it needs longer, raise start.timeoutMs",
			),
		});
		expect(bench.clock.now()).toBe(TIMEOUT_MS);
		expect(signal?.reason).toBe(outcome);
	});

	test("says what was awaited, and which line does not belong to the protocol", async () => {
		const worker = bench.addWorker();
		worker.startReport = {
			awaits: 'the answer to "initialize"',
			stray: "Welcome!",
		};
		const never = () => new Promise<never>(() => {});
		const outcome = await bench.clock.advanceUntil(
			raceToReady(worker, started, TIMEOUT_MS, bench.clock, never).catch(
				(error: StartError) => error,
			),
		);
		expect(outcome).toMatchObject({
			message: expect.stringContaining(
				'was not ready within 1000 ms: it waited for the answer to "initialize". Its standard output has a line that does not belong to the protocol: "Welcome!". It has to print such lines to standard error. If it needs longer, raise start.timeoutMs.',
			),
		});
	});

	test("closes a connection that comes too late", async () => {
		const late = handshake();
		const made = Promise.withResolvers<Handshake>();
		await bench.clock.advanceUntil(race(() => made.promise));
		made.resolve(late);
		await bench.clock.settle();
		expect(late.closed).toBe(1);
	});

	test.each([
		["fails", () => Promise.reject(new Error("late failure"))],
		[
			"cannot be closed",
			async () =>
				handshake(async () => {
					throw new Error("will not close");
				}),
		],
	])(
		"is not harmed by a connection that comes too late and %s",
		async (_what, end) => {
			const made = Promise.withResolvers<Handshake>();
			expect(
				await bench.clock.advanceUntil(race(() => made.promise)),
			).toMatchObject({ code: "START_TIMEOUT" });
			made.resolve(end());
			await bench.clock.settle();
		},
	);
});

describe("an exit", () => {
	test("that is seen before the refusal in the control channel was read does not hide it", async () => {
		const control = new PassThrough();
		const refusal = new StartError({
			code: "WORKER_REFUSED",
			message: "its hook failed",
		});
		const { exited, executed } = started;
		const outcome = raceToReady(
			bench.addWorker(),
			{ exited, executed, control } as unknown as StartedProcess,
			TIMEOUT_MS,
			bench.clock,
			async () => {
				await once(control, "end");
				throw refusal;
			},
		).catch((error) => error);
		process.exit(70);
		await bench.clock.settle();
		control.end();
		control.resume();
		expect(await outcome).toBe(refusal);
		expect(bench.clock.pending()).toBe(0);
	});

	test.each([
		["a control channel that closed", channelClosed()],
		["a conversation that failed", new Error("write EPIPE")],
	])("explains %s just before", async (_what, error) => {
		const outcome = race(async () => {
			throw error;
		});
		await bench.clock.advance(999);
		process.exit(70);
		await bench.clock.settle();
		expect(await outcome).toMatchObject({
			code: "WORKER_EXITED_EARLY",
			message: expect.stringContaining("exited with code 70"),
		});
		expect(bench.clock.pending()).toBe(0);
	});

	test("does not replace what the program or its adapter said of the start", async () => {
		const refused = new StartError({
			code: "WORKER_REFUSED",
			message: "no numpy",
		});
		const outcome = race(async () => {
			throw refused;
		});
		process.exit(1);
		expect(await bench.clock.advanceUntil(outcome)).toBe(refused);
		expect(bench.clock.now()).toBe(0);
	});

	test("is awaited also when the deadline passes meanwhile", async () => {
		const failure = new Error("wrong number");
		const connecting = Promise.withResolvers<Handshake>();
		const outcome = race(() => connecting.promise);
		await bench.clock.advance(TIMEOUT_MS - 1);
		connecting.reject(failure);
		expect(await bench.clock.advanceUntil(outcome)).toBe(failure);
	});

	test("after the deadline changes nothing", async () => {
		const outcome = race(() => new Promise(() => undefined));
		await bench.clock.advance(TIMEOUT_MS);
		process.exit(1);
		await bench.clock.settle();
		expect(await outcome).toMatchObject({ code: "START_TIMEOUT" });
	});
});

test("a host that was blocked beyond the deadline first reads what the worker sent meanwhile", async () => {
	const made = handshake();
	const sent = Promise.withResolvers<Handshake>();
	const outcome = race(() => sent.promise);
	await bench.clock.advance(400);
	bench.clock.stall(60_000);
	// Its timers fire before anything is read.
	await bench.clock.settle();
	sent.resolve(made);
	expect(await bench.clock.advanceUntil(outcome)).toBe(made);
	expect(bench.clock.pending()).toBe(0);
});
