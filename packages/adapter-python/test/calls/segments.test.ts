import { existsSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { NdArray, type PythonOptions } from "../../src/index.ts";
import { sharedBench, startBench } from "../support/bench.ts";
import { call, failureOf, streamOf } from "../support/calls.ts";
import { openFiles } from "../support/open-files.ts";
import type { StartOptions, TestWorker } from "../support/python-worker.ts";
import { toolsFile } from "../support/pythons.ts";

const SIZE = 1_000_000;
const tools = toolsFile("keeping.py");

function filled(number: number, size = SIZE): NdArray {
	return new NdArray("uint8", [size], new Uint8Array(size).fill(number));
}

function extremesOf(value: unknown): readonly number[] {
	const bytes =
		value instanceof NdArray ? value.bytes() : Buffer.from(value as Uint8Array);
	return [Math.min(...sample(bytes)), Math.max(...sample(bytes))];
}

/** Each page, and the end. */
function* sample(bytes: Uint8Array): Generator<number> {
	for (let at = 0; at < bytes.length; at += 1024) yield bytes[at] as number;
	yield bytes.at(-1) as number;
}

/** The segments that a process has open, by name. */
function segmentsOf(
	{ sharedDirectory = "" }: TestWorker,
	pid: number | "self",
) {
	return [...new Set(openFiles(sharedDirectory, pid))].sort();
}

function filesOf({ sharedDirectory = "" }: TestWorker): readonly string[] {
	return readdirSync(sharedDirectory);
}

describe.skipIf(!existsSync("/dev/shm"))("large values", () => {
	function begin(
		options: Partial<PythonOptions> = {},
		start: StartOptions = {},
	): Promise<TestWorker> {
		return startBench({ tools, ...options }, start);
	}

	/** What one test has it keep, the others write over as well. */
	const keeper = sharedBench({ tools });

	/** Writes over every segment that is free. */
	async function writeOver({ connection }: TestWorker): Promise<void> {
		for (const number of [201, 202, 203]) {
			expect(
				extremesOf(await call(connection, "echo", [filled(number).data])),
			).toEqual([number, number]);
			expect(
				extremesOf(await call(connection, "echo", [filled(number)])),
			).toEqual([number, number]);
			expect(
				extremesOf(await call(connection, "made", [SIZE, number])),
			).toEqual([number, number]);
		}
	}

	test("bytes there and back take turns in one file, which has no name", async () => {
		const worker = await begin();
		for (let number = 0; number < 20; number++) {
			const bytes = filled(number, SIZE + number * 1000).data;
			const echoed = await call(worker.connection, "echo", [bytes]);
			expect(Buffer.compare(echoed as Uint8Array, bytes as Uint8Array)).toBe(0);
			expect(filesOf(worker)).toEqual([]);
			for (const pid of ["self", worker.process.pid] as const)
				expect(segmentsOf(worker, pid)).toEqual(["h1"]);
		}
	});

	test("an array and what is made of it take turns in two", async () => {
		const worker = await begin();
		for (let number = 0; number < 20; number++) {
			const sum = await call(worker.connection, "plus", [filled(number), 1]);
			expect(extremesOf(sum)).toEqual([number + 1, number + 1]);
			expect(segmentsOf(worker, "self").length).toBeLessThanOrEqual(2);
			expect(segmentsOf(worker, worker.process.pid).length).toBeLessThanOrEqual(
				2,
			);
		}
		expect(filesOf(worker)).toEqual([]);
	});

	test("results alone take turns in one, smaller and larger ones", async () => {
		const worker = await begin();
		for (const size of [SIZE, SIZE / 5, SIZE * 3, SIZE]) {
			const made = await call(worker.connection, "made", [size, 9]);
			expect((made as Uint8Array).length).toBe(size);
			expect(extremesOf(made)).toEqual([9, 9]);
			expect(segmentsOf(worker, "self")).toEqual(["w1"]);
		}
	});

	test.each([
		"array",
		"slice",
		"reshaped",
		"memoryview",
		"iterator",
		"closure",
		"cycle",
		"traceback",
		"thread",
		"context",
		"child",
	])("what a tool keeps never changes: %s", async (way) => {
		const { connection } = await keeper();
		await writeOver(await keeper());
		const answer = await call(connection, "keep", [filled(1), way]);
		expect(extremesOf(answer)).toEqual([101, 101]);
		await writeOver(await keeper());
		expect(await call(connection, "extremes", [way])).toEqual([1, 1]);
		await call(connection, "collected", []);
		await writeOver(await keeper());
	});

	test("what an exception keeps never changes, and the next call is served", async () => {
		const worker = await begin();
		await writeOver(worker);
		await failureOf(call(worker.connection, "keep_and_fail", [filled(1)]));
		await writeOver(worker);
	});

	test("what a task that outlives its call keeps never changes", async () => {
		const worker = await begin();
		await writeOver(worker);
		await call(worker.connection, "keep_in_a_task", [filled(1)]);
		await writeOver(worker);
		expect(await call(worker.connection, "task_extremes", [])).toEqual([1, 1]);
	});

	test.each(["in_slices", "in_slices_async"])(
		"what a generator has left to yield never changes: %s",
		async (command) => {
			const worker = await begin({ streamCredit: 1 }, { callsPerWorker: 2 });
			await writeOver(worker);
			const stream = streamOf(worker.connection, command, [filled(1), 5]);
			for (let part = 0; part < 5; part++) {
				const { value } = await stream.next();
				expect(extremesOf(value)).toEqual([1, 1]);
				await writeOver(worker);
			}
			expect((await stream.next()).done).toBe(true);
			await writeOver(worker);
			expect(segmentsOf(worker, "self").length).toBeLessThanOrEqual(4);
		},
	);

	test("an array is its process's own: neither a child of a fork nor its parent sees what the other writes", async () => {
		const worker = await begin();
		await writeOver(worker);
		expect(await call(worker.connection, "forking", [filled(1)])).toEqual([
			1, 7,
		]);
	});

	test("calls at once have segments of their own", async () => {
		const worker = await begin({}, { callsPerWorker: 4 });
		const rounds = Array.from({ length: 60 }, async (_, number) => {
			const size = SIZE / 4 + ((number * 7919) % 13) * 50_000;
			const value = [filled(number, size), filled(number + 60, size).data];
			const back = (await call(worker.connection, "echo", [
				value,
			])) as unknown[];
			expect(back.map(extremesOf)).toEqual([
				[number, number],
				[number + 60, number + 60],
			]);
		});
		await Promise.all(rounds);
		expect(segmentsOf(worker, "self").length).toBeLessThanOrEqual(8);
		expect(filesOf(worker)).toEqual([]);
	});

	test("a call that fails, is refused or is cancelled gives its segment back", async () => {
		const worker = await begin();
		const { connection } = worker;
		const bytes = filled(3).data;
		await failureOf(call(connection, "failing", [bytes]));
		await failureOf(call(connection, "no_such_tool", [bytes]));
		await failureOf(call(connection, "failing", [bytes, bytes]));
		const aborter = new AbortController();
		const call_ = call(connection, "echo", [bytes], {
			signal: aborter.signal,
		});
		aborter.abort();
		await call_.catch(() => {});
		await call(connection, "echo", [bytes]);
		expect(segmentsOf(worker, "self")).toEqual(["h1"]);
		expect(filesOf(worker)).toEqual([]);
	});

	test("a worker that is killed leaves nothing open in the host", async () => {
		const worker = await begin();
		await writeOver(worker);
		const lost = failureOf(call(worker.connection, "stuck", [filled(1)]));
		worker.kill();
		await lost;
		expect(segmentsOf(worker, "self")).toEqual([]);
		expect(filesOf(worker)).toEqual([]);
	});
});
