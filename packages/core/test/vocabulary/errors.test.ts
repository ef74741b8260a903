import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import * as errors from "../../src/contract/errors.ts";
import { jsonLine, plainText, terminalText } from "../../src/contract/text.ts";

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

test.each([
	["plain text\n\tindented", "plain text\n\tindented"],
	["\x1b[31mred\x1b[0m and \x1b[1;4mbold\x1b[m", "red and bold"],
	["\x1b]0;a title\x07text\x1b]8;;http://x\x1b\\link", "textlink"],
	["\x1b[2J\x1b[1;1Hcleared", "cleared"],
	["back\bspace and \rreturn", "back␈space and ␍return"],
	["an escape alone: \x1b", "an escape alone: ␛"],
	["nul \0 and del \x7f", "nul ␀ and del ␡"],
	["\u202eturned\u202c", "<U+202E>turned<U+202C>"],
	["\x9b31m", "<U+009B>31m"],
])("%j is shown as %j", (text, shown) => {
	expect(plainText(text)).toBe(shown);
});

test("a text made to be slow is not", () => {
	const start = performance.now();
	plainText("\x1b]".repeat(50_000) + "\x1b[".repeat(50_000));
	terminalText("\x1b[1m\x1b]".repeat(50_000));
	expect(performance.now() - start).toBeLessThan(5_000);
});

test("whatever a reader takes for the end of a line, a value is one line and stays what it is", async () => {
	const text = Array.from({ length: 0x2100 }, (_, code) =>
		String.fromCharCode(code),
	).join("");
	const line = jsonLine({ [text]: text });
	// As Python's str.splitlines has them; readline has fewer.
	for (const end of "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029")
		expect(line).not.toContain(end);
	const read = await Array.fromAsync(
		createInterface({ input: Readable.from([`${line}\n`]) }),
	);
	expect(read.map((each) => JSON.parse(each))).toEqual([{ [text]: text }]);
});

test.each([undefined, () => {}, { toJSON: () => undefined }])(
	"what JSON does not have is a TypeError: %s",
	(value) => {
		expect(() => jsonLine(value)).toThrow(TypeError);
	},
);
