import { describe, expect, test } from "vitest";
import { StartError } from "../../src/contract/errors.ts";
import { linesOf } from "../../src/job/job.ts";
import {
	type JobEnd,
	type JobStop,
	verdictOf,
} from "../../src/job/job-verdict.ts";
import { JobQueue } from "../../src/job/jobs.ts";

const END: JobEnd = {
	name: "Job r-1 (ffmpeg, pid 7)",
	pid: 7,
	exit: { kind: "code", code: 0 },
	stop: undefined,
	okCodes: [0],
	ranMs: 12.3,
	stderrTail: ["no such file"],
	tailParagraph: "\nIts last lines:\n  | no such file",
};
const TAIL = { stderrTail: ["no such file"] };
const killed = { kind: "signal", signal: "SIGKILL" } as const;
const verdict = (end: Partial<JobEnd>) => verdictOf({ ...END, ...end });

describe("a job that ends by itself", () => {
	test("has succeeded with a code that is fine", () => {
		const succeeded = { outcome: "succeeded", error: undefined };
		expect(verdict({})).toEqual(succeeded);
		expect(
			verdict({ exit: { kind: "code", code: 3 }, okCodes: [0, 3] }),
		).toEqual(succeeded);
	});

	test("has failed with another, and its error says what can be done", () => {
		const exit = { kind: "code", code: 1 } as const;
		const { outcome, error } = verdict({ exit, okCodes: [0, 2] });
		expect(outcome).toBe("failed");
		expect(error).toMatchObject({
			...{ name: "JobError", code: "JOB_FAILED", ran: "maybe", exit },
			...TAIL,
			message:
				"Job r-1 (ffmpeg, pid 7) exited with code 1 after 12 ms. Its okCodes are [0, 2]: add 1 if this exit code is not an error.\nIts last lines:\n  | no such file",
		});
	});

	test("has failed when a signal ended it", () => {
		expect(verdict({ exit: killed })).toMatchObject({
			outcome: "failed",
			error: {
				code: "JOB_FAILED",
				exit: killed,
				message: expect.stringContaining(
					"was ended by SIGKILL after 12 ms. Snakepit did not send that signal.",
				),
			},
		});
	});
});

const reason = new Error("enough");
const STOPS: readonly (readonly [JobStop, object])[] = [
	[
		{ kind: "aborted", reason },
		{
			outcome: "aborted",
			error: { name: "AbortError", code: "JOB_ABORTED", cause: reason },
		},
	],
	[
		{ kind: "abandoned" },
		{ outcome: "aborted", error: { name: "AbortError", code: "JOB_ABORTED" } },
	],
	[
		{ kind: "timed_out", timeoutMs: 50 },
		{
			outcome: "timed_out",
			error: {
				...{ name: "TimeoutError", code: "JOB_TIMEOUT" },
				message: expect.stringContaining("ran for longer than 50 ms."),
			},
		},
	],
	[
		{ kind: "input_failed", error: reason },
		{
			outcome: "failed",
			error: {
				...{ name: "JobError", code: "JOB_INPUT_FAILED", cause: reason },
				message: expect.stringContaining("failed: enough"),
			},
		},
	],
	[
		{ kind: "input_failed", error: "a text" },
		{
			outcome: "failed",
			error: { message: expect.stringContaining("failed: a text") },
		},
	],
	[
		{ kind: "output_too_large", what: "output", maxBytes: 9 },
		{
			outcome: "failed",
			error: {
				code: "JOB_OUTPUT_TOO_LARGE",
				message: expect.stringContaining("more than 9 bytes"),
			},
		},
	],
	[
		{ kind: "output_too_large", what: "line", maxBytes: 9 },
		{
			outcome: "failed",
			error: {
				code: "JOB_OUTPUT_TOO_LARGE",
				message: expect.stringContaining("a line of more than 9 bytes"),
			},
		},
	],
	[
		{ kind: "run_closed" },
		{ outcome: "failed", error: { code: "JOB_RUN_CLOSED" } },
	],
];

describe("a job that is ended", () => {
	test.each(STOPS)(
		"%j: counts for that, whatever its exit",
		(stop, expected) => {
			for (const exit of [END.exit, killed])
				expect(verdict({ stop, exit })).toMatchObject({
					...expected,
					error: { ran: "maybe", exit, ...TAIL },
				});
			expect(verdict({ stop, exit: killed }).error?.message).toContain(
				"Its process was ended by SIGKILL after 12 ms.",
			);
			expect(verdict({ stop, exit: undefined }).error?.message).toContain(
				"was sent SIGKILL and is still there",
			);
		},
	);

	test.each(STOPS)("%j: did not run when it had no process", (stop) => {
		const { error } = verdict({ stop, pid: undefined, exit: undefined });
		expect(error?.ran).toBe("no");
		expect(error?.message).toContain("It was never started.");
	});

	test("because it could not be started has that error", () => {
		const error = new StartError({
			...{ code: "SPAWN_FAILED", ran: "no" },
			message: "no such program",
		});
		const stop: JobStop = { kind: "not_started", error };
		const exit = { kind: "code", code: 127 } as const;
		expect(verdict({ stop, exit })).toEqual({ outcome: "failed", error });
	});
});

/** Who has had its turn, in order. */
function observed(queue: JobQueue) {
	const turns: string[] = [];
	return {
		turns,
		enter: (name: string) => {
			const place = queue.enter();
			void place.turn.then(() => turns.push(name));
			return place;
		},
	};
}
const settle = (): Promise<void> => new Promise((done) => setImmediate(done));

test("as many jobs as the limit have their turn at once, the others in the order in which they came", async () => {
	const queue = new JobQueue({ concurrency: 2, queueLimit: 10 });
	const { turns, enter } = observed(queue);
	const places = ["a", "b", "c", "d"].map(enter);
	await settle();
	expect(turns).toEqual(["a", "b"]);
	expect([queue.running, queue.waiting]).toEqual([2, 2]);
	places[1]?.leave();
	places[0]?.leave();
	await settle();
	expect(turns).toEqual(["a", "b", "c", "d"]);
	expect([queue.running, queue.waiting]).toEqual([2, 0]);
});

test("a place that is left twice makes room once", async () => {
	const queue = new JobQueue({ concurrency: 1, queueLimit: 10 });
	const { turns, enter } = observed(queue);
	const first = enter("a");
	enter("b");
	enter("c");
	first.leave();
	first.leave();
	await settle();
	expect(turns).toEqual(["a", "b"]);
	expect([queue.running, queue.waiting]).toEqual([1, 1]);
});

test("who leaves before its turn gives its place to nobody", async () => {
	const queue = new JobQueue({ concurrency: 1, queueLimit: 10 });
	const { turns, enter } = observed(queue);
	const first = enter("a");
	const second = enter("b");
	enter("c");
	second.leave();
	await settle();
	expect(turns).toEqual(["a"]);
	first.leave();
	await settle();
	expect(turns).toEqual(["a", "c"]);
	expect([queue.running, queue.waiting]).toEqual([1, 0]);
});

test("the last one leaves room for the next", async () => {
	const queue = new JobQueue({ concurrency: 1, queueLimit: 0 });
	const { turns, enter } = observed(queue);
	enter("a").leave();
	enter("b");
	await settle();
	expect(turns).toEqual(["a", "b"]);
});

test("one more than may wait is refused, with both limits", () => {
	const queue = new JobQueue({ concurrency: 1, queueLimit: 1 });
	queue.enter();
	queue.enter();
	expect(() => queue.enter()).toThrow(
		expect.objectContaining({
			code: "JOB_QUEUE_FULL",
			ran: "no",
			message:
				"1 jobs are running and 1 are waiting, which is the limit. Start fewer at once, or raise jobs.queueLimit (1) or jobs.concurrency (1) of the run.",
		}),
	);
	expect([queue.running, queue.waiting]).toEqual([1, 1]);
});

const tooLong = async (): Promise<never> => {
	throw new Error("too long");
};

async function* cut(bytes: Uint8Array, size: number) {
	for (let from = 0; from < bytes.length; from += size)
		yield bytes.subarray(from, from + size);
}

async function lines(text: string, size: number, most = 1_000) {
	return await Array.fromAsync(
		linesOf(cut(Buffer.from(text), size), most, tooLong),
	);
}

describe("bytes are lines, wherever they are cut", () => {
	test.each([
		["", []],
		["one", ["one"]],
		["one\n", ["one"]],
		["one\n\ntwo", ["one", "", "two"]],
		["\n", [""]],
		["one\r\ntwo\r\n", ["one", "two"]],
		["a\rb\n", ["a\rb"]],
		["größer\n日本\n", ["größer", "日本"]],
	])("%j", async (text, expected) => {
		for (let size = 1; size <= 8; size++)
			expect(await lines(text, size)).toEqual(expected);
	});
});

test("a line may be as long as the limit, and no byte longer", async () => {
	for (const size of [1, 3, 100]) {
		expect(await lines("1234\n123", size, 4)).toEqual(["1234", "123"]);
		await expect(lines("1234\n12345\n", size, 4)).rejects.toThrow("too long");
		await expect(lines("12345", size, 4)).rejects.toThrow("too long");
	}
});
