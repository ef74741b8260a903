import { describe, expect, test } from "vitest";
import { StartError } from "../../src/contract/errors.ts";
import {
	type JobEnd,
	type JobStop,
	verdictOf,
} from "../../src/job/job-verdict.ts";

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
