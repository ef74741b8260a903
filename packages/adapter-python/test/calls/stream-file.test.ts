import { existsSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { encodeValue, type PythonOptions } from "../../src/index.ts";
import {
	Attachment,
	SharedMemory,
} from "../../src/shared-memory/shared-memory.ts";
import { startBench } from "../support/bench.ts";
import { failureOf, streamOf } from "../support/calls.ts";
import { endOf, FakeWorker } from "../support/fake-worker.ts";
import { openFiles } from "../support/open-files.ts";
import type { StartOptions, TestWorker } from "../support/python-worker.ts";
import { toolsFile } from "../support/pythons.ts";

const MEGABYTE = 1024 * 1024;
const SIZE = 64 * 1024;
const COUNT = 200;
const tools = toolsFile("values.py");

function left({ sharedDirectory = "" }: TestWorker): {
	readonly files: readonly string[];
	readonly open: readonly string[];
} {
	return {
		files: readdirSync(sharedDirectory),
		open: openFiles(sharedDirectory),
	};
}

const NOTHING = { files: [], open: [] };

describe.skipIf(!existsSync("/dev/shm"))("large values", () => {
	function start(
		options: Partial<PythonOptions> = {},
		start: StartOptions = {},
	): Promise<TestWorker> {
		return startBench({ tools, ...options }, start);
	}

	test("the chunks of a stream take turns in one file, and none is overwritten", async () => {
		const worker = await start();
		const chunks: Uint8Array[] = [];
		const stream = streamOf(worker.connection, "pieces", [SIZE, COUNT]);
		for (;;) {
			const { done, value } = await stream.next();
			if (done === true) break;
			chunks.push(value as Uint8Array);
			expect(left(worker).files).toEqual([]);
			// The worker is at its end, and the call over, before the last are taken.
			if (chunks.length <= COUNT / 2) expect(left(worker).open).toHaveLength(1);
		}
		expect(left(worker)).toEqual(NOTHING);
		expect(chunks).toHaveLength(COUNT);
		for (const [number, chunk] of chunks.entries())
			expect(Buffer.compare(chunk, Buffer.alloc(SIZE, number))).toBe(0);
	});

	test("a slow consumer gets what was sent, also when the worker is ahead by all its credit", async () => {
		const worker = await start({ streamCredit: 3 });
		const stream = streamOf(worker.connection, "pieces", [SIZE, 30]);
		for (let number = 0; number < 30; number++) {
			// A ping comes back after what the worker could send until then.
			await worker.connection.ping?.(new AbortController().signal);
			const { value } = await stream.next();
			expect(
				Buffer.compare(value as Uint8Array, Buffer.alloc(SIZE, number)),
			).toBe(0);
		}
		expect((await stream.next()).done).toBe(true);
		expect(left(worker)).toEqual(NOTHING);
	});

	test("two streams at once have a file each", async () => {
		const worker = await start({}, { callsPerWorker: 2 });
		const streams = [1, 2].map(() =>
			streamOf(worker.connection, "pieces", [SIZE, 40]),
		);
		for (let number = 0; number < 40; number++) {
			for (const stream of streams) {
				const { value } = await stream.next();
				expect((value as Uint8Array)[SIZE - 1]).toBe(number);
			}
			if (number === 0) expect(left(worker).open).toHaveLength(2);
		}
		for (const stream of streams) expect((await stream.next()).done).toBe(true);
		expect(left(worker)).toEqual(NOTHING);
	});

	test.each([
		["that fits in the room of a chunk", SIZE],
		["that has a file of its own", 4 * MEGABYTE],
	])(
		"what a generator returns crosses in shared memory: a result %s",
		async (_, size) => {
			const worker = await start();
			for (const count of [0, 1, 20]) {
				const stream = streamOf(worker.connection, "pieces_and_result", [
					SIZE,
					count,
					size,
				]);
				for (let number = 0; number < count; number++)
					expect((await stream.next()).done).toBe(false);
				const { done, value } = await stream.next();
				expect(done).toBe(true);
				expect(
					Buffer.compare(value as Uint8Array, Buffer.alloc(size, "r")),
				).toBe(0);
				expect(left(worker)).toEqual(NOTHING);
			}
		},
	);

	test("a stream that its consumer left closes its file", async () => {
		const worker = await start();
		const stream = streamOf(worker.connection, "pieces", [SIZE, COUNT]);
		await stream.next();
		await stream.return?.();
		expect(left(worker)).toEqual(NOTHING);
	});

	test("a worker that is killed leaves no open file", async () => {
		const worker = await start();
		const stream = streamOf(worker.connection, "pieces", [SIZE, COUNT]);
		await stream.next();
		expect(left(worker).open).toHaveLength(1);
		worker.kill();
		await failureOf(
			(async () => {
				while ((await stream.next()).done !== true);
			})(),
		);
		expect(openFiles(worker.sharedDirectory ?? "")).toEqual([]);
	});

	test("chunks below a quarter of what is shared are sent", async () => {
		const worker = await start({ sharedMemory: { fromBytes: 4 * SIZE + 4 } });
		const stream = streamOf(worker.connection, "pieces", [SIZE, 2]);
		await stream.next();
		expect(left(worker)).toEqual(NOTHING);
		await stream.return?.();
	});

	test("a chunk that finds no room in the file has one of its own", async () => {
		const worker = await start();
		const stream = streamOf(worker.connection, "pieces", [MEGABYTE + 1, 3]);
		for (let number = 0; number < 3; number++) {
			const { value } = await stream.next();
			expect((value as Uint8Array).length).toBe(MEGABYTE + 1);
			expect((value as Uint8Array)[MEGABYTE]).toBe(number);
			expect(left(worker).open).toEqual([]);
		}
		expect((await stream.next()).done).toBe(true);
		expect(left(worker)).toEqual(NOTHING);
	});
});

describe("what a worker says of the file of a stream", () => {
	interface Said {
		readonly name: string;
		readonly size: number;
		readonly offset: number;
	}

	function streaming() {
		const directory = temporaryDirectory();
		const worker = new FakeWorker({
			sharedMemory: SharedMemory.inDirectory({
				directory,
				fromBytes: 4096,
				limitBytes: 16 * MEGABYTE,
			}),
		});
		const stream = streamOf(worker.conversation, "pieces", []);
		return { directory, worker, stream };
	}

	test.each<[string, (path: (name: string) => string) => readonly Said[]]>([
		["a file that is not there", () => [{ name: "s1", size: 8, offset: 0 }]],
		[
			"a name outside of the directory",
			() => [{ name: "../s1", size: 8, offset: 0 }],
		],
		[
			"a link",
			(path) => {
				symlinkSync("/etc/passwd", path("s1"));
				return [{ name: "s1", size: 8, offset: 0 }];
			},
		],
		[
			"less than announced",
			(path) => {
				writeFileSync(path("s1"), "12345678");
				return [{ name: "s1", size: 8, offset: 1 }];
			},
		],
		[
			"more than a chunk has room for",
			(path) => {
				writeFileSync(path("s1"), new Uint8Array(MEGABYTE + 1));
				return [{ name: "s1", size: MEGABYTE + 1, offset: 0 }];
			},
		],
		[
			"a second file",
			(path) => {
				for (const name of ["s1", "s2"]) writeFileSync(path(name), "12345678");
				return ["s1", "s2"].map((name) => ({ name, size: 8, offset: 0 }));
			},
		],
	])("%s is the stream's failure, and nothing else's", async (_, prepare) => {
		const { directory, worker, stream } = streaming();
		const all = (async () => {
			while ((await stream.next()).done !== true);
		})();
		const value = encodeValue(new Uint8Array(8), {
			attachment: new Attachment(1),
		});
		for (const attachment of prepare((name) => join(directory, name)))
			worker.say({ kind: "chunk", callId: 1, value, attachment });
		expect(worker.all("cancel")).toHaveLength(1);
		worker.fail(1, "CANCELLED");
		expect(await failureOf(all)).toMatchObject({
			code: "VALUE_NOT_TRANSFERABLE",
			ran: "maybe",
		});
		expect(worker.brokenBy).toEqual([]);
		expect(openFiles(directory)).toEqual([]);
	});

	test("is not kept when it is in the end of a stream that was left", async () => {
		const { directory, worker, stream } = streaming();
		const step = stream.next();
		const left = stream.return?.();
		for (const name of ["s1", "w1"])
			writeFileSync(join(directory, name), "12345678");
		const attachment = { size: 8, offset: 0 };
		worker.say(endOf(1, { attachment: { name: "s1", ...attachment } }));
		// One that crosses with the end of its call.
		worker.say(endOf(1, { attachment: { name: "w1", ...attachment } }));
		expect(await left).toEqual({ done: true, value: undefined });
		expect(await step).toEqual({ done: true, value: undefined });
		expect(readdirSync(directory)).toEqual([]);
	});
});
