import { describe, expect, test } from "vitest";
import {
	ConnectionBrokenError,
	InputError,
	type SnakepitError,
	WorkerLostError,
} from "../../src/errors.ts";
import {
	nextStep,
	type Occurrence,
	type Progress,
} from "../../src/pool/next-step.ts";

/** A call that waits for the first time; `tried` is what differs. */
const call = (tried: Partial<Progress> = {}): Progress => ({
	state: { kind: "waiting" },
	attempts: 0,
	begun: 0,
	idempotentRetries: 0,
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

const EVERY: readonly Occurrence<string>[] = [
	{ kind: "worker_found", worker: "w" },
	{ kind: "no_worker", queue: "open", process: "there" },
	{ kind: "no_worker", queue: "full", process: "gone" },
	{ kind: "answered", answer: 1 },
	{ kind: "failed", error: lost("no") },
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
		idempotentRetries = 9,
		spent: Partial<Progress> = {},
	) =>
		nextStep(
			call({
				state: { kind: "running" },
				...{ attempts, begun, idempotentRetries },
				...spent,
			}),
			{ kind: "failed", error },
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

	test("the error says that the work may have begun if any attempt did", () => {
		const running = call({ state: { kind: "running" }, attempts: 2, begun: 1 });
		const step = nextStep(running, { kind: "failed", error: refused });
		expect(step).toMatchObject({
			kind: "fail",
			error: { code: "TOOL_NOT_FOUND", ran: "maybe" },
		});
		expect(refused.ran).toBe("no");
	});

	test("the error says that the work did not begin if no attempt did", () => {
		const running = call({ state: { kind: "running" }, attempts: 1 });
		const step = nextStep(running, { kind: "failed", error: refused });
		expect(step).toEqual({ kind: "fail", error: refused });
		expect(step.kind === "fail" && step.error.ran).toBe("no");
	});
});
