import { execFileSync } from "node:child_process";
import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { encodeValue } from "../../src/index.ts";
import { SharedDirectory } from "../../src/shared-memory/segments.ts";
import {
	Attachment,
	SharedMemory,
} from "../../src/shared-memory/shared-memory.ts";
import { call, failureOf, streamOf } from "../support/calls.ts";
import { endOf, FakeWorker } from "../support/fake-worker.ts";
import { openFiles } from "../support/open-files.ts";

const SIZE = 8192;
const LIMIT = 1024 * 1024;
const bytes = new Uint8Array(SIZE).fill(7);

class Bench {
	readonly directory = temporaryDirectory();
	readonly worker = new FakeWorker({
		sharedMemory: new SharedMemory(
			{ fromBytes: 4096, limitBytes: LIMIT },
			new SharedDirectory(this.directory),
			() => () => {},
		),
	});

	constructor() {
		onTestFinished(() => this.worker.conversation[Symbol.asyncDispose]());
	}

	call(command = "echo", value: unknown = bytes): Promise<unknown> {
		return call(this.worker.conversation, command, [value]);
	}

	/** What the host said of segments, call by call. */
	get said() {
		return this.worker
			.all("call")
			.map(({ attachment, resultSegment, segmentsGone }) => [
				attachment?.name ?? "",
				resultSegment,
				...segmentsGone,
			]);
	}

	/** The worker answers, with bytes in a file; `size` is what it announces. */
	answer(
		callId: number,
		name: string | undefined,
		argumentsFree: boolean,
		size = SIZE,
	): void {
		const [value, attachment] =
			name === undefined
				? [encodeValue(1), undefined]
				: [
						encodeValue(bytes, { attachment: new Attachment(1) }),
						{ name, size, offset: 0 },
					];
		this.worker.say({
			kind: "result",
			callId,
			beganUs: undefined,
			ranUs: undefined,
			value,
			attachment,
			argumentsFree,
		});
	}

	make(name: string): string {
		writeFileSync(join(this.directory, name), bytes);
		return name;
	}

	/** What this process holds open. */
	get open(): readonly string[] {
		return openFiles(this.directory);
	}
}

test("arguments that are in use are never overwritten, and the host gives up their memory", async () => {
	const bench = new Bench();
	for (const callId of [1, 2]) {
		const answered = bench.call();
		bench.answer(callId, undefined, false);
		await answered;
	}
	expect(bench.said).toEqual([
		["h1", ""],
		["h2", ""],
	]);
	expect(bench.open).toEqual([]);
});

test("arguments of a call that is not over are never written over", async () => {
	const bench = new Bench();
	const first = bench.call();
	const second = bench.call();
	bench.answer(2, undefined, true);
	await second;
	const third = bench.call();
	expect(bench.said.map(([name]) => name)).toEqual(["h1", "h2", "h2"]);
	bench.answer(1, undefined, true);
	bench.answer(3, undefined, true);
	await Promise.all([first, third]);
	expect(bench.open.toSorted()).toEqual(["h1", "h2"]);
});

test("a failure and the end of a stream say what is free, too", async () => {
	const bench = new Bench();
	const failed = failureOf(bench.call());
	bench.worker.fail(1, "TOOL_FAILED", { argumentsFree: true });
	await failed;
	const stream = streamOf(bench.worker.conversation, "pieces", [bytes]);
	const step = stream.next();
	bench.worker.say(endOf(2, { argumentsFree: true }));
	expect((await step).done).toBe(true);
	const last = bench.call();
	bench.answer(3, undefined, true);
	await last;
	expect(bench.said.map(([name]) => name)).toEqual(["h1", "h1", "h1"]);
});

test("a result's segment comes with the next call of that command, and with no other", async () => {
	const bench = new Bench();
	const first = bench.call("make", 1);
	bench.answer(1, bench.make("w1"), false);
	expect(await first).toEqual(bytes);
	for (const [callId, command] of [
		[2, "other"],
		[3, "make"],
	] as const) {
		const next = bench.call(command, 1);
		bench.answer(callId, command === "make" ? "w1" : undefined, false);
		await next;
	}
	expect(bench.said).toEqual([
		["", ""],
		["", ""],
		["", "w1"],
	]);
});

test.each<[string, (bench: Bench) => void]>([
	[
		"in the segment of its arguments, which are in use",
		(bench) => bench.answer(1, "h1", false),
	],
	["in that of another call", (bench) => bench.answer(1, "h2", true)],
	["in one that is not there", (bench) => bench.answer(1, "w5", true)],
	["outside of the directory", (bench) => bench.answer(1, "../h1", true)],
	["in the file of a stream", (bench) => bench.answer(1, "s1", true)],
	["larger than its segment", (bench) => bench.answer(1, "h1", true, SIZE + 1)],
	["larger than the limit", (bench) => bench.answer(1, "h1", true, LIMIT + 1)],
	[
		"in a link",
		(bench) => {
			symlinkSync("/etc/passwd", join(bench.directory, "w1"));
			bench.answer(1, "w1", true);
		},
	],
	[
		"in a pipe, at which nobody waits",
		(bench) => {
			execFileSync("mkfifo", [join(bench.directory, "w1")]);
			bench.answer(1, "w1", true, 0);
		},
	],
	[
		"in a file that is smaller than announced",
		(bench) => bench.answer(1, bench.make("w1"), true, SIZE + 1),
	],
])(
	"a result %s is its call's failure, and nothing else's",
	async (_, answer) => {
		const bench = new Bench();
		const bad = failureOf(bench.call());
		const good = bench.call();
		answer(bench);
		expect(await bad).toMatchObject({
			code: "VALUE_NOT_TRANSFERABLE",
			ran: "maybe",
		});
		bench.answer(2, "h2", true);
		expect(await good).toEqual(bytes);
		expect(bench.worker.brokenBy).toEqual([]);
	},
);

test("files of a call that is over are removed", () => {
	const bench = new Bench();
	for (const name of ["w1", "s1"]) {
		bench.answer(7, bench.make(name), false);
		expect(readdirSync(bench.directory)).toEqual([]);
	}
	expect(bench.worker.brokenBy).toEqual([]);
});

test("a call whose bytes are too many for both says that they were sent in the message", async () => {
	const bench = new Bench();
	const error = await failureOf(
		call(bench.worker.conversation, "echo", [new Uint8Array(2 * LIMIT)]),
	);
	expect(error).toMatchObject({ code: "MESSAGE_TOO_LARGE", ran: "no" });
	expect(String(error)).toMatch(
		/maxMessageBytes.*larger than sharedMemory\.limitBytes/,
	);
});

test("a call that cannot be sent gives its segment back", async () => {
	const bench = new Bench();
	const tooLarge = "x".repeat(2 * LIMIT);
	for (let i = 0; i < 2; i++)
		expect(
			await failureOf(
				call(bench.worker.conversation, "echo", [bytes], {
					sessionId: tooLarge,
				}),
			),
		).toMatchObject({ code: "MESSAGE_TOO_LARGE", ran: "no" });
	const sent = bench.call();
	bench.answer(1, undefined, true);
	await sent;
	expect(bench.said).toEqual([["h1", ""]]);
});
