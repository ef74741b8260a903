import { existsSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { NdArray, type PythonOptions } from "../../src/index.ts";
import { startBench } from "../support/bench.ts";
import { call, failureOf, streamOf } from "../support/calls.ts";
import type { TestWorker } from "../support/python-worker.ts";
import { toolsFile } from "../support/pythons.ts";

const MEGABYTE = 1024 * 1024;
const tools = toolsFile("values.py");

function start(options: Partial<PythonOptions> = {}): Promise<TestWorker> {
	return startBench({ tools, ...options });
}

function filesOf({ sharedDirectory }: TestWorker): readonly string[] {
	return readdirSync(sharedDirectory ?? "");
}

describe.skipIf(!existsSync("/dev/shm"))("with shared memory", () => {
	test("large values go there and back, beyond the limit of a message, and leave nothing", async () => {
		const worker = await start({ maxMessageBytes: MEGABYTE });
		const bytes = new Uint8Array(5 * MEGABYTE).fill(7);
		const array = NdArray.from(
			Float64Array.from({ length: MEGABYTE }, (_, i) => i),
			[1024, 1024],
		);
		const value = { bytes, array, small: "text" };
		const echoed = (await call(worker.connection, "echo", {
			value,
		})) as typeof value;
		expect(Buffer.compare(echoed.bytes, bytes)).toBe(0);
		expect(echoed.array.shape).toEqual([1024, 1024]);
		expect(Buffer.compare(echoed.array.bytes(), array.bytes())).toBe(0);
		expect(filesOf(worker)).toEqual([]);
	});

	test("bytes that Python copies into huge pages arrive whole, each beside the others", async () => {
		const worker = await start();
		// Each page is another, and no part begins or ends with one.
		const parts = [33, 40].map((megabytes) => {
			const numbers = new Uint32Array((megabytes * MEGABYTE) / 4);
			for (let i = 0; i < numbers.length; i += 64) numbers[i] = i + megabytes;
			return new Uint8Array(numbers.buffer).subarray(megabytes);
		});
		const value = [new Uint8Array(MEGABYTE).fill(7), ...parts];
		for (let turn = 0; turn < 2; turn++) {
			const echoed = (await call(worker.connection, "echo", {
				value,
			})) as typeof value;
			expect(
				value.map((part, i) => Buffer.compare(part, echoed[i] ?? Buffer.of())),
			).toEqual([0, 0, 0]);
		}
		expect(filesOf(worker)).toEqual([]);
	});

	test("a tool may write to the array that it got; the caller's stays as it was", async () => {
		const { connection } = await start();
		const array = new Float64Array(MEGABYTE).fill(1);
		const doubled = (await call(connection, "doubled", [array])) as NdArray;
		expect([array[9], doubled.data[9]]).toEqual([1, 2]);
	});

	test("chunks of a stream are handed over one by one", async () => {
		const worker = await start();
		const stream = streamOf(worker.connection, "pieces", [MEGABYTE, 40]);
		for (let number = 0; number < 40; number++) {
			const { value } = await stream.next();
			expect((value as Uint8Array)[MEGABYTE - 1]).toBe(number);
			expect(filesOf(worker).length).toBeLessThanOrEqual(20);
		}
		expect((await stream.next()).done).toBe(true);
		expect(filesOf(worker)).toEqual([]);
	});

	test("a stream that is left behind leaves no file", async () => {
		const worker = await start();
		const stream = streamOf(worker.connection, "pieces", [MEGABYTE, 40]);
		await stream.next();
		await stream.return?.();
		expect(filesOf(worker)).toEqual([]);
	});

	/** Aborts the call when its tool asks for an answer, which never comes: so the cancel is what the tool hears. */
	async function cancelled(tool: string) {
		const aborter = new AbortController();
		const worker = await start({
			hostFunctions: {
				begun: () => {
					aborter.abort();
					return new Promise(() => {});
				},
			},
		});
		const { signal } = aborter;
		const outcome = call(worker.connection, tool, [MEGABYTE], { signal });
		return { worker, outcome };
	}

	test("a result that comes in spite of a cancel is the answer, and leaves no file", async () => {
		const { worker, outcome } = await cancelled("large_in_spite_of_a_cancel");
		expect(await outcome).toEqual(new Uint8Array(MEGABYTE));
		expect(filesOf(worker)).toEqual([]);
	});

	test("a call that is cancelled while it makes something large fails, and leaves no file", async () => {
		const { worker, outcome } = await cancelled("large_unless_cancelled");
		expect(await failureOf(outcome)).toMatchObject({
			code: "CALL_ABORTED",
			ran: "maybe",
		});
		await call(worker.connection, "echo", [1]);
		expect(filesOf(worker)).toEqual([]);
	});

	test("arguments that cannot be used leave no file", async () => {
		const worker = await start();
		const bytes = new Uint8Array(MEGABYTE);
		for (const command of ["no_such_tool", "pieces"])
			await failureOf(call(worker.connection, command, { value: bytes }));
		expect(filesOf(worker)).toEqual([]);
	});

	test("what is larger than the limit is sent, or refused", async () => {
		const { connection } = await start({
			sharedMemory: { limitBytes: MEGABYTE },
			maxMessageBytes: 4 * MEGABYTE,
		});
		const sent = new Uint8Array(2 * MEGABYTE).fill(3);
		const echoed = await call(connection, "echo", [sent]);
		expect(Buffer.compare(echoed as Uint8Array, sent)).toBe(0);
		expect(
			await failureOf(call(connection, "echo", [new Uint8Array(8 * MEGABYTE)])),
		).toMatchObject({ code: "MESSAGE_TOO_LARGE", ran: "no" });
	});

	test("without it large values are sent", async () => {
		const worker = await start({ sharedMemory: "off" });
		const bytes = new Uint8Array(MEGABYTE).fill(9);
		expect(await call(worker.connection, "echo", [bytes])).toEqual(bytes);
	});
});
