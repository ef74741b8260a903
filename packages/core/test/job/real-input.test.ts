import { createReadStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import type { JobInput } from "../../src/job/job-options.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { realRun } from "./real-run.ts";

async function* pieces(): AsyncGenerator<string | Uint8Array> {
	yield "hello ";
	yield Buffer.from("größe");
}

function ofAnotherRealm(text: string): Uint8Array {
	const bytes = [...Buffer.from(text)];
	return runInNewContext(`new Uint8Array([${bytes.join()}])`);
}

test("a program reads a text, bytes, pieces of either, and streams, as they are", async () => {
	const { run } = await realRun();
	const path = join(temporaryDirectory(), "input");
	writeFileSync(path, "hello größe");
	const inputs: readonly JobInput[] = [
		"hello größe",
		Buffer.from("hello größe"),
		["hello ", "größe"],
		pieces(),
		// As in a test that runs in Jest.
		ofAnotherRealm("hello größe"),
		[ofAnotherRealm("hello "), "größe"],
		createReadStream(path),
		new Blob(["hello größe"]).stream() as ReadableStream<Uint8Array>,
	];
	for (const input of inputs)
		expect(await run.job(["cat"], { input }).text()).toBe("hello größe");
	expect(await run.job(["cat"], { input: "" }).text()).toBe("");
	expect(await run.job(["cat"]).text()).toBe("");
});

test("what is read at one end and written at the other waits for the slower one, in bounded memory", async () => {
	const { run } = await realRun();
	const piece = Buffer.alloc(65_536, 7);
	const PIECES = 400;
	let made = 0;
	function* endless(): Generator<Uint8Array> {
		for (; made < PIECES; made++) yield piece;
	}
	let read = 0;
	let furthestAhead = 0;
	for await (const chunk of run.job(["cat"], { input: endless() })) {
		read += chunk.length;
		furthestAhead = Math.max(furthestAhead, made * piece.length - read);
		await new Promise((resolve) => setImmediate(resolve));
	}
	expect(read).toBe(PIECES * piece.length);
	// Three pipes, and what each of three programs holds: of 26 MB.
	expect(furthestAhead).toBeLessThan(2 ** 21);
});

test("a program that stops reading is not an error, and the rest of its input is dropped", async () => {
	const { run } = await realRun();
	let isLeft = false;
	async function* endless(): AsyncGenerator<string> {
		try {
			for (;;) yield "12345\n".repeat(1_000);
		} finally {
			isLeft = true;
		}
	}
	const job = run.job(["head", "-c", "5"], { input: endless() });
	expect(await job.text()).toBe("12345");
	expect(await job.result()).toMatchObject({ exit: { code: 0 } });
	expect(isLeft).toBe(true);
});

test("a stream that waits is destroyed with the job", async () => {
	const { run } = await realRun();
	const silent = new Readable({ read() {} });
	await run.job(["true"], { input: silent }).result();
	expect(silent.destroyed).toBe(true);
});

describe("input that fails ends the job, which would take a part for the whole", () => {
	const failure = new Error("the source is gone");
	async function* fails(): AsyncGenerator<string> {
		yield "a part";
		throw failure;
	}
	const BROKEN: Readonly<Record<string, readonly [() => unknown, unknown]>> = {
		"a generator that throws": [fails, failure],
		"a stream that is destroyed": [
			() => {
				const stream = new Readable({ read() {} });
				setImmediate(() => stream.destroy(failure));
				return stream;
			},
			failure,
		],
		"a number in it": [
			() => ["a part", 7],
			expect.objectContaining({
				message: expect.stringContaining("got number"),
			}),
		],
	};
	test("a stream that is destroyed before its program is started", async () => {
		const { run } = await realRun();
		const input = new Readable({ read() {} });
		const job = run.job(["cat"], { input });
		input.destroy(failure);
		await expect(job.text()).rejects.toMatchObject({
			...{ code: "JOB_INPUT_FAILED", cause: failure },
		});
	});
	test.each(Object.entries(BROKEN))("%s", async (_, [input, cause]) => {
		const { run } = await realRun();
		const job = run.job(["cat"], { input: input() as JobInput });
		await expect(job.text()).rejects.toMatchObject({
			...{ code: "JOB_INPUT_FAILED", ran: "maybe", cause },
		});
	});
});
