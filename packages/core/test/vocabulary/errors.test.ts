import { describe, expect, test } from "vitest";
import * as errors from "../../src/contract/errors.ts";

const { SnakepitError, InputError, ToolError } = errors;
const remote = {
	type: "ValueError",
	message: "no",
	traceback: "Traceback",
	notes: [],
	frames: [],
	cause: undefined,
};
const cause = new Error("below");

const fields = <Code extends string>(code: Code) => ({
	...{ code, message: "m", ran: "maybe" as const, cause },
});
const withoutCode = { message: "m", ran: "maybe", cause } as const;

/** One of each class, with the name that a log shows. */
const made = [
	[new errors.OptionsError(fields("INVALID_OPTION")), "OptionsError"],
	[new errors.StartError(fields("SPAWN_FAILED")), "StartError"],
	[new errors.RegistryError(fields("REGISTRY_FULL")), "RegistryError"],
	[new errors.QueueError(fields("QUEUE_FULL")), "QueueError"],
	[new errors.CallAbortedError(fields("CALL_ABORTED")), "AbortError"],
	[new errors.CallTimeoutError(fields("CALL_TIMEOUT")), "TimeoutError"],
	[new errors.WorkerLostError(fields("WORKER_EXITED")), "WorkerLostError"],
	[new errors.JobError(fields("JOB_FAILED")), "JobError"],
	[new errors.JobError(fields("JOB_ABORTED")), "AbortError"],
	[new errors.JobError(fields("JOB_TIMEOUT")), "TimeoutError"],
	[
		new InputError({ ...fields("INVALID_ARGUMENTS"), path: "$.a[3]" }),
		"InputError",
	],
	[new ToolError({ ...withoutCode, remote }), "ToolError"],
	[new errors.ConnectionBrokenError(withoutCode), "ConnectionBrokenError"],
	[
		new errors.CloseError({ ...fields("STILL_THERE"), stillThere: [7] }),
		"CloseError",
	],
] as const;

describe("every error", () => {
	test("is listed here", () => {
		const classes = Object.values(errors).filter(
			(value) => typeof value === "function" && value.name.endsWith("Error"),
		);
		expect(new Set(classes)).toEqual(
			new Set([SnakepitError, ...made.map(([error]) => error.constructor)]),
		);
	});

	test.each(made)(
		"%o is a SnakepitError with a code, what ran, and its cause",
		(error, name) => {
			expect(error).toBeInstanceOf(SnakepitError);
			expect(error).toBeInstanceOf(Error);
			expect(error.name).toBe(name);
			expect(error.message).toBe("m");
			expect(error.code).toMatch(/^[A-Z_]+$/);
			expect(["no", "maybe"]).toContain(error.ran);
			expect(error.cause).toBe(cause);
			expect(error.stack).toContain("errors.test.ts");
		},
	);

	test("has no cause property when there is none", () => {
		const error = new SnakepitError({
			code: "IMPOSSIBLE_TRANSITION",
			message: "m",
			ran: "no",
		});
		expect("cause" in error).toBe(false);
	});
});

describe("as JSON", () => {
	test("an error has its fields and its message, and neither stack nor cause", () => {
		const error = new InputError({
			code: "INVALID_ARGUMENTS",
			message: "no number",
			ran: "no",
			cause,
			path: "$.a[3]",
		});
		expect(JSON.parse(JSON.stringify({ error }))).toEqual({
			error: {
				name: "InputError",
				code: "INVALID_ARGUMENTS",
				ran: "no",
				path: "$.a[3]",
				message: "no number",
			},
		});
	});

	test("what failed in a worker has no traceback and no file, at any depth", () => {
		const frames = [{ file: "/srv/tools.py", line: 3, function: "f" }];
		const below = { ...remote, message: "deeper", frames };
		const error = new ToolError({
			message: "no [ValueError]",
			ran: "maybe",
			remote: { ...remote, frames, notes: ["note"], cause: below },
		});
		expect(JSON.parse(JSON.stringify(error))).toEqual({
			name: "ToolError",
			code: "TOOL_FAILED",
			ran: "maybe",
			message: "no [ValueError]",
			remote: {
				type: "ValueError",
				message: "no",
				notes: ["note"],
				cause: { type: "ValueError", message: "deeper", notes: [] },
			},
		});
		expect(error.remote.traceback).toBe("Traceback");
	});
});

test("an InputError names the place, or no place", () => {
	const fields = {
		code: "INVALID_ARGUMENTS",
		message: "m",
		ran: "no",
	} as const;
	expect(new InputError({ ...fields, path: "$.a[3]" }).path).toBe("$.a[3]");
	expect(new InputError(fields).path).toBe("");
});

test("a ToolError carries the details of the worker's language", () => {
	expect(new ToolError({ message: "m", ran: "maybe", remote }).remote).toBe(
		remote,
	);
});

test("an abort and a time-out have the names that the platform uses", () => {
	const abort = AbortSignal.abort();
	expect(abort.reason.name).toBe(
		new errors.CallAbortedError({
			code: "CALL_ABORTED",
			message: "m",
			ran: "no",
		}).name,
	);
	const timeout = new DOMException("m", "TimeoutError");
	expect(timeout.name).toBe(
		new errors.CallTimeoutError({
			code: "CALL_TIMEOUT",
			message: "m",
			ran: "no",
		}).name,
	);
});
