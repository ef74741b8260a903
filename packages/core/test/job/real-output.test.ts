import { createWriteStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { describe, expect, test } from "vitest";
import type { Job } from "../../src/job/job.ts";
import { eventually, temporaryDirectory } from "../cleanup/hosts.ts";
import { lives, realRun } from "./real-run.ts";

const shell = (script: string): readonly string[] => ["sh", "-c", script];

test("the output of a program is read as it comes, line by line, as a text or as bytes", async () => {
	const { run } = await realRun();
	const command = shell("printf 'größer\\r\\nlast'");
	const chunks = await Array.fromAsync(run.job(command));
	expect(Buffer.concat(chunks).toString()).toBe("größer\r\nlast");
	expect(await Array.fromAsync(run.job(command).lines())).toEqual([
		"größer",
		"last",
	]);
	expect(await run.job(command).text()).toBe("größer\r\nlast");
	expect(Buffer.from(await run.job(command).bytes()).toString()).toBe(
		"größer\r\nlast",
	);
});

test("a stream of Node takes it as a source", async () => {
	const { run } = await realRun();
	const path = join(temporaryDirectory(), "out");
	const job = run.job(["head", "-c", "300000", "/dev/zero"]);
	await pipeline(job, createWriteStream(path));
	expect(readFileSync(path)).toHaveLength(300_000);
});

test("a failure comes after the output, which is whole", async () => {
	const { run } = await realRun();
	const read: string[] = [];
	const reading = async (): Promise<void> => {
		const job = run.job(shell("echo a; echo b; echo no >&2; exit 3"));
		for await (const line of job.lines()) read.push(line);
	};
	await expect(reading()).rejects.toMatchObject({
		...{ code: "JOB_FAILED", exit: { kind: "code", code: 3 } },
		stderrTail: ["no"],
	});
	expect(read).toEqual(["a", "b"]);
});

test("what a program printed before its end is kept for a reader that comes later", async () => {
	const { run, events } = await realRun();
	const job = run.job(["head", "-c", "100000", "/dev/zero"]);
	await events.waitFor("job.settled");
	expect(await job.bytes()).toHaveLength(100_000);
});

test("a program waits for its reader, but its end can be awaited without a reader", async () => {
	const { run } = await realRun();
	const command = ["head", "-c", "3000000", "/dev/zero"];
	const slow = run.job(command);
	expect(await run.job(command).result()).toMatchObject({ exit: { code: 0 } });
	expect(run.statistics().jobs).toMatchObject({ running: 1, succeeded: 1 });
	expect(await slow.bytes()).toHaveLength(3_000_000);
});

describe("output that is left before its end ends the job, and the reader goes on when nothing of it is left", () => {
	test("by a loop", async () => {
		const { run, events } = await realRun();
		const job = run.job(["yes"]);
		for await (const line of job.lines()) {
			expect(line).toBe("y");
			break;
		}
		expect(lives(job.pid ?? 0)).toBe(false);
		expect(events.of("job.settled")).toMatchObject([{ outcome: "aborted" }]);
		await expect(job.result()).rejects.toMatchObject({ code: "JOB_ABORTED" });
	});

	test("by `await using`", async () => {
		const { run } = await realRun();
		let pid = 0;
		{
			await using job = run.job(["yes"]);
			for await (const _ of job.lines()) {
				pid = job.pid ?? 0;
				break;
			}
		}
		expect(pid).toBeGreaterThan(0);
		expect(lives(pid)).toBe(false);
	});
});

describe("output that is longer than its reader takes ends the job", () => {
	type Read = (job: Job) => Promise<{ readonly length: number }>;
	const WAYS: readonly (readonly [string, Read, number])[] = [
		["text", (job) => job.text({ maxBytes: 100_000 }), 100_000],
		["bytes", (job) => job.bytes({ maxBytes: 100_000 }), 100_000],
		[
			"lines",
			(job) => Array.fromAsync(job.lines({ maxLineBytes: 100_000 })),
			1,
		],
	];
	test.each(WAYS)("%s", async (_, read, length) => {
		const { run } = await realRun();
		const job = run.job(["cat", "/dev/zero"]);
		await expect(read(job)).rejects.toMatchObject({
			code: "JOB_OUTPUT_TOO_LARGE",
		});
		expect(lives(job.pid ?? 0)).toBe(false);
		const fits = run.job(["head", "-c", "100000", "/dev/zero"]);
		expect(await read(fits)).toHaveLength(length);
	});

	test("also when the program has ended before it is noticed", async () => {
		const { run, events } = await realRun();
		const job = run.job(["echo", "hello"]);
		await events.waitFor("job.settled");
		await expect(job.text({ maxBytes: 3 })).rejects.toMatchObject({
			code: "JOB_OUTPUT_TOO_LARGE",
		});
	});
});

test("output is read once, and not after it was discarded", async () => {
	const { run } = await realRun();
	const taken = { code: "JOB_OUTPUT_TAKEN" };
	const read = run.job(["echo", "hello"]);
	expect(await read.text()).toBe("hello\n");
	await expect(read.bytes()).rejects.toMatchObject(taken);
	const discarded = run.job(["echo", "hello"]);
	await discarded.result();
	expect(() => discarded.lines()).toThrow(expect.objectContaining(taken));
	expect(() => discarded[Symbol.asyncIterator]()).toThrow(
		expect.objectContaining(taken),
	);
});

test("each line of standard error is reported while the program runs", async () => {
	const { run } = await realRun();
	const first = Promise.withResolvers<string>();
	const script = "echo begun >&2; read line; echo $line >&2";
	async function* whenBegun(): AsyncGenerator<string> {
		yield `after ${await first.promise}\n`;
	}
	const lines: string[] = [];
	const { stderrTail } = await run
		.job(shell(script), {
			input: whenBegun(),
			onStderr: (line) => {
				lines.push(line);
				first.resolve(line);
			},
		})
		.result();
	expect(lines).toEqual(["begun", "after begun"]);
	expect(stderrTail).toEqual(lines);
});

describe("what a program leaves behind", () => {
	test("in its group is gone when the job has ended", async () => {
		const { run } = await realRun();
		const script = 'trap "" TERM; sleep 1000 >/dev/null & echo $!';
		const pid = Number(await run.job(shell(script)).text());
		expect(lives(pid)).toBe(false);
	});

	test("outside its group is found by its marker, and does not keep the output open", async () => {
		const { run } = await realRun();
		const script = "setsid sh -c 'echo $$; exec sleep 1000' & sleep 0.1";
		const [first = ""] = await Array.fromAsync(run.job(shell(script)).lines());
		await eventually("its end", () => !lives(Number(first)));
	});
});
