import { describe, expect, test } from "vitest";
import {
	ConnectionBrokenError,
	InputError,
	type SnakepitError,
	ToolError,
	WorkerLostError,
} from "../../src/contract/errors.ts";
import {
	nextStep,
	type Occurrence,
	type Progress,
} from "../../src/pool/calls/call-states.ts";
import type { FailedAttempt } from "../../src/pool/calls/failed-attempt.ts";

/** A call that waits for the first time; `tried` is what differs. */
const call = (tried: Partial<Progress> = {}): Progress => ({
	state: { kind: "waiting" },
	attempts: 0,
	begun: 0,
	retry: undefined,
	session: undefined,
	deadlineMs: undefined,
	work: { begun: false },
	input: undefined,
	...tried,
});

const lost = (ran: "no" | "maybe") =>
	new WorkerLostError({ code: "WORKER_EXITED", ran, message: "" });
const broken = new ConnectionBrokenError({
	ran: "no",
	message: "",
});
const toolFailed = new ToolError({
	...{ ran: "maybe", message: "", remote: { type: "IOError", message: "" } },
});
const refused = new InputError({
	code: "TOOL_NOT_FOUND",
	ran: "no",
	message: "",
});
const sessionGone = new WorkerLostError({
	code: "SESSION_LOST",
	ran: "no",
	message: "",
});

const failed = (
	error: SnakepitError,
	more: Partial<FailedAttempt> = {},
): FailedAttempt => ({
	kind: "failed",
	...{ error, nowMs: 0, byCaller: "not accepted", fraction: 1 },
	...more,
});

const EVERY: readonly Occurrence<string>[] = [
	{ kind: "worker_found", worker: "w" },
	{ kind: "no_worker", queue: "open", process: "there" },
	{ kind: "no_worker", queue: "full", process: "gone" },
	{ kind: "answered", answer: 1 },
	failed(lost("no")),
	{ kind: "given_up", error: lost("no") },
];

describe("the next step of a call", () => {
	test.each(EVERY)("is nothing once it is settled: $kind", (occurrence) => {
		const settled = call({ state: { kind: "settled" } });
		expect(nextStep(settled, occurrence)).toEqual({ kind: "nothing" });
	});

	test("is to run on the worker that was found", () => {
		expect(nextStep(call(), { kind: "worker_found", worker: "w" })).toEqual({
			kind: "run",
			worker: "w",
		});
	});

	test.each([
		["open", "there", 0, { kind: "wait" }],
		["full", "there", 0, { kind: "refuse", why: "queue_full" }],
		["open", "gone", 0, { kind: "refuse", why: "session_lost" }],
		["full", "gone", 0, { kind: "refuse", why: "queue_full" }],
		// It was accepted before, and keeps its place.
		["full", "there", 1, { kind: "wait" }],
		["full", "gone", 1, { kind: "refuse", why: "session_lost" }],
	] as const)(
		"without a worker, with a queue that is %s, a process that is %s and %i attempts",
		(queue, process, attempts, step) => {
			const lack = { kind: "no_worker", queue, process } as const;
			expect(nextStep(call({ attempts }), lack)).toEqual(step);
		},
	);

	test("is to settle with the answer, or with the error that ends it", () => {
		const running = call({ state: { kind: "running" }, attempts: 1 });
		expect(nextStep(running, { kind: "answered", answer: 7 })).toEqual({
			kind: "succeed",
			answer: 7,
		});
		const error = lost("maybe");
		for (const each of [running, call()])
			expect(nextStep(each, { kind: "given_up", error })).toEqual({
				kind: "fail",
				error,
			});
	});
});

describe("after an attempt that failed", () => {
	const after = (
		error: SnakepitError,
		attempts: number,
		begun: number,
		retries = 9,
		spent: Partial<Progress> = {},
	) =>
		nextStep(
			call({
				state: { kind: "running" },
				...{ attempts, begun, retry: { attempts: 1 + retries } },
				...spent,
			}),
			failed(error),
		).kind;

	test("a call is made again only when its worker was lost", () => {
		expect(after(lost("no"), 1, 0, 0)).toBe("retry");
		expect(after(broken, 1, 0, 0)).toBe("retry");
		expect(after(sessionGone, 1, 0)).toBe("fail");
		expect(after(refused, 1, 0)).toBe("fail");
	});

	test("work that may have begun is repeated only as often as its caller allowed", () => {
		expect(after(lost("maybe"), 1, 1, 0)).toBe("fail");
		expect(after(lost("maybe"), 1, 1, 1)).toBe("retry");
		expect(after(lost("maybe"), 2, 2, 1)).toBe("fail");
		expect(after(lost("maybe"), 3, 1, 1)).toBe("retry");
	});

	test("a call that never began is not moved around for ever", () => {
		expect(after(lost("no"), 4, 0)).toBe("retry");
		expect(after(lost("no"), 5, 0)).toBe("fail");
		expect(after(lost("no"), 5, 1)).toBe("retry");
	});

	test("nothing is made again whose items were delivered or whose input was read", () => {
		const delivered = { work: { begun: true } };
		const read = { input: { opened: "yes" } } as const;
		const unread = { input: { opened: "no" } } as const;
		expect(after(lost("no"), 1, 0, 9, delivered)).toBe("fail");
		expect(after(lost("no"), 1, 0, 9, read)).toBe("fail");
		expect(after(lost("no"), 1, 0, 9, unread)).toBe("retry");
	});

	test("a failure of the command is retried only if its caller accepts it, as often as it allows", () => {
		const running = (begun: number) =>
			call({
				...{ state: { kind: "running" }, attempts: begun, begun },
				retry: { attempts: 2 },
			});
		const byCaller = "accepted";
		expect(nextStep(running(1), failed(toolFailed)).kind).toBe("fail");
		expect(nextStep(running(1), failed(toolFailed, { byCaller })).kind).toBe(
			"retry",
		);
		expect(nextStep(running(2), failed(toolFailed, { byCaller })).kind).toBe(
			"fail",
		);
	});

	test.each([
		[1, 1, 100],
		[2, 1, 200],
		[3, 1, 400],
		[3, 0, 200],
		[9, 1, 25_600],
		[10, 1, 30_000],
	])(
		"%i attempts that may have begun, and %d by chance, are followed by a pause of %i ms",
		(begun, fraction, pauseMs) => {
			const running = call({
				...{ state: { kind: "running" }, attempts: begun, begun },
				retry: { attempts: 100, backoffMs: 100 },
			});
			const error = lost("maybe");
			expect(nextStep(running, failed(error, { fraction }))).toEqual({
				...{ kind: "retry", because: error, pauseMs },
			});
		},
	);

	test("a call that did not begin does not pause", () => {
		const running = call({
			...{ state: { kind: "running" }, attempts: 1 },
			retry: { attempts: 2, backoffMs: 100 },
		});
		expect(nextStep(running, failed(lost("no")))).toMatchObject({ pauseMs: 0 });
	});

	test("a pause that would outlast the deadline is not begun: the call fails with its error", () => {
		const running = (deadlineMs: number) =>
			call({
				...{ state: { kind: "running" }, attempts: 1, begun: 1, deadlineMs },
				retry: { attempts: 2, backoffMs: 100 },
			});
		const at = failed(lost("maybe"), { nowMs: 50 });
		expect(nextStep(running(151), at).kind).toBe("retry");
		expect(nextStep(running(150), at)).toEqual({
			...{ kind: "fail", error: at.error },
		});
	});

	test("the error says that the work may have begun if any attempt did", () => {
		const running = call({ state: { kind: "running" }, attempts: 2, begun: 1 });
		const step = nextStep(running, failed(refused));
		expect(step).toMatchObject({
			kind: "fail",
			error: { code: "TOOL_NOT_FOUND", ran: "maybe" },
		});
		expect(refused.ran).toBe("no");
	});

	test("the error says that the work did not begin if no attempt did", () => {
		const running = call({ state: { kind: "running" }, attempts: 1 });
		const step = nextStep(running, failed(refused));
		expect(step).toEqual({ kind: "fail", error: refused });
		expect(step.kind === "fail" && step.error.ran).toBe("no");
	});
});
