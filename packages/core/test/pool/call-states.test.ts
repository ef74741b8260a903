import { types } from "node:util";
import { describe, expect, test } from "vitest";
import {
	ConnectionBrokenError,
	InputError,
	SnakepitError,
	ToolError,
	WorkerLostError,
} from "../../src/contract/errors.ts";
import type { Call } from "../../src/pool/calls/call.ts";
import {
	asBegun,
	queueFull,
	timedOut,
} from "../../src/pool/calls/call-errors.ts";
import {
	type CallHistory,
	type CallTrigger,
	type JudgedFailure,
	stepCall,
} from "../../src/pool/calls/call-states.ts";
import { scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

/** A call that waits for the first time; `tried` is what differs. */
const call = (tried: Partial<CallHistory> = {}): CallHistory => ({
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

const judged = (
	error: SnakepitError,
	more: Partial<JudgedFailure> = {},
): JudgedFailure => ({
	kind: "judged",
	...{ error, nowMs: 0, byCaller: "not accepted", fraction: 1 },
	...more,
});

const given: SnakepitError = lost("no");

const TRIGGERS: Readonly<Record<string, CallTrigger<string>>> = {
	placed: { kind: "placed", worker: "w" },
	prefetchable: { kind: "prefetchable", worker: "w" },
	open: { kind: "no_worker", queue: "open", process: "there" },
	full: { kind: "no_worker", queue: "full", process: "there" },
	stranded: { kind: "no_worker", queue: "open", process: "gone" },
	full_and_stranded: { kind: "no_worker", queue: "full", process: "gone" },
	began: { kind: "began" },
	recalled: { kind: "recalled" },
	recall_confirmed: { kind: "recall_confirmed" },
	answered: { kind: "answered", answer: 1 },
	failed: { kind: "failed", error: given },
	broke: { kind: "broke" },
	judged: judged(given),
	paused_enough: { kind: "paused_enough" },
	given_up: { kind: "given_up", error: given },
};

/** Every cell that is not empty. */
const TABLE = `
waiting placed -> running: begin send
waiting prefetchable -> prefetched: prefetch send
waiting open -> waiting: queue
waiting full -> settled: leave_queue settle queue_full
waiting stranded -> settled: leave_queue settle session_lost
waiting full_and_stranded -> settled: leave_queue settle queue_full
waiting given_up -> settled: leave_queue settle
prefetched began -> running: begin
prefetched recalled -> waiting: count_recall
prefetched recall_confirmed -> waiting: count_recall seek_worker
prefetched answered -> settled: begin release settle free_worker
prefetched failed -> failing: begin release judge free_worker
running recall_confirmed -> waiting: release seek_worker free_worker
running answered -> settled: release settle free_worker
running failed -> failing: release judge free_worker
running broke -> unanswerable:
running given_up -> cancelling: cancel settle
unanswerable recall_confirmed -> waiting: release seek_worker free_worker
unanswerable answered -> settled: release settle free_worker
unanswerable failed -> failing: release judge free_worker
unanswerable given_up -> cancelling: settle
failing judged -> waiting: report_retry seek_worker
failing given_up -> settled: settle
pausing paused_enough -> waiting: seek_worker
pausing given_up -> settled: settle
cancelling recall_confirmed -> settled: release free_worker
cancelling answered -> settled: release free_worker
cancelling failed -> settled: release free_worker
`;

test("each trigger does to a call in each state what the table says", () => {
	const states = [
		...["waiting", "prefetched", "running", "unanswerable", "failing"],
		...["pausing", "cancelling", "settled"],
	] as const;
	const table = states.flatMap((kind) =>
		Object.entries(TRIGGERS).flatMap(([name, trigger]) => {
			const step = stepCall(call({ state: { kind } }), trigger);
			if (step === undefined) return [];
			const { to, effects, refusal = "" } = step;
			const does = [...effects, refusal].join(" ").trim();
			return [`${kind} ${name} -> ${to}: ${does}`.trimEnd()];
		}),
	);
	expect(`\n${table.join("\n")}\n`).toBe(TABLE);
});

test("a call that is given up is settled with that error", () => {
	for (const kind of ["waiting", "running", "unanswerable", "pausing"] as const)
		expect(
			stepCall(call({ state: { kind } }), { kind: "given_up", error: given }),
		).toMatchObject({ error: given });
});

describe("after an attempt that failed", () => {
	const failing = { state: { kind: "failing" } } as const;
	const after = (
		error: SnakepitError,
		attempts: number,
		begun: number,
		retries = 9,
		spent: Partial<CallHistory> = {},
	) => {
		const history = call({
			...{ ...failing, attempts, begun, retry: { attempts: 1 + retries } },
			...spent,
		});
		return stepCall(history, judged(error))?.to === "settled"
			? "fail"
			: "retry";
	};

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
		const toAfter = (begun: number, more: Partial<JudgedFailure> = {}) =>
			stepCall(
				call({ ...failing, attempts: begun, begun, retry: { attempts: 2 } }),
				judged(toolFailed, more),
			)?.to;
		const byCaller = "accepted";
		expect(toAfter(1)).toBe("settled");
		expect(toAfter(1, { byCaller })).toBe("waiting");
		expect(toAfter(2, { byCaller })).toBe("settled");
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
			const retry = { attempts: 100, backoffMs: 100 };
			const because = lost("maybe");
			expect(
				stepCall(
					call({ ...failing, attempts: begun, begun, retry }),
					judged(because, { fraction }),
				),
			).toEqual({
				to: "pausing",
				effects: ["report_retry", "start_pause"],
				retry: { because, pauseMs },
			});
		},
	);

	test("a call that did not begin does not pause", () => {
		const retry = { attempts: 2, backoffMs: 100 };
		expect(
			stepCall(call({ ...failing, attempts: 1, retry }), judged(lost("no"))),
		).toMatchObject({ to: "waiting", retry: { pauseMs: 0 } });
	});

	test("a pause that would outlast the deadline is not begun: the call fails with its error", () => {
		const history = (deadlineMs: number) =>
			call({
				...{ ...failing, attempts: 1, begun: 1, deadlineMs },
				retry: { attempts: 2, backoffMs: 100 },
			});
		const at = judged(lost("maybe"), { nowMs: 50 });
		expect(stepCall(history(151), at)?.to).toBe("pausing");
		expect(stepCall(history(150), at)).toMatchObject({
			...{ to: "settled", error: at.error },
		});
	});

	test("the error says that the work may have begun if any attempt did", () => {
		expect(
			stepCall(call({ ...failing, attempts: 2, begun: 1 }), judged(refused)),
		).toMatchObject({ error: { code: "TOOL_NOT_FOUND", ran: "maybe" } });
		expect(refused.ran).toBe("no");
	});

	test("the error says that the work did not begin if no attempt did", () => {
		const step = stepCall(call({ ...failing, attempts: 1 }), judged(refused));
		expect(step?.error).toBe(refused);
		expect(step?.error?.ran).toBe("no");
	});
});

test.each([
	[99.4, "100 ms"], // A timer of Node may ring a little early.
	[100, "100 ms"],
	[5_100.2, "5100 ms"],
])(
	"a deadline of 100 ms that is noticed after %d ms is reported as passed after %s",
	(noticedMs, reported) => {
		const call = {
			callId: "c1",
			command: "sum",
			acceptedMs: 20,
			deadlineMs: 120,
			begun: 0,
			state: { kind: "running" },
			work: { shape: "unary" },
		} as Partial<Call> as Call;
		const { message } = timedOut("p", call, 20 + noticedMs);
		expect(message).toContain(`passed its deadline after ${reported}`);
	},
);

test("a full queue is counted in the right number", () => {
	expect(queueFull("demo", 1, 1).message).toContain(
		"1 call is waiting (queue.limit) and 1 is running",
	);
	expect(queueFull("demo", 2, 0).message).toContain(
		"2 calls are waiting (queue.limit) and 0 are running",
	);
});

test("an error that an adapter throws again and again is not changed by a call that may have begun", async () => {
	const path = "$.shared";
	const message = "It is thrown for every call.";
	const shared = new InputError({
		code: "INVALID_ARGUMENTS",
		ran: "no",
		message,
		path,
	});
	const crashed = new Set<unknown>();
	const { pool, clock } = await virtualPool({
		commands: {
			unlucky: (call) => {
				if (call.args === "tried" && !crashed.has(call.args)) {
					crashed.add(call.args);
					return scripts.crash(call);
				}
				throw shared;
			},
		},
	});
	const tried = outcome(
		pool.execute("unlucky", "tried", { retry: { attempts: 2 } }),
	);
	await clock.advance(30_000);
	expect(await tried).toMatchObject({
		code: "INVALID_ARGUMENTS",
		ran: "maybe",
		error: { attempts: 2, message: `After 2 attempts: ${message}`, path },
	});
	expect(shared.ran).toBe("no");
	const later = outcome(pool.execute("unlucky", "later"));
	expect(await later).toMatchObject({ ran: "no", error: shared });
});

class OwnError extends WorkerLostError {
	readonly machine = "m-1";
}

test("the error with the other `ran` is the same in all else: class, fields, cause, stack", () => {
	const cause = new TypeError("below");
	const common = { ran: "no", message: "gone", cause } as const;
	const error = new OwnError({ code: "WORKER_EXITED", ...common });
	const begun = asBegun(error);
	expect(begun).not.toBe(error);
	expect(begun).toBeInstanceOf(OwnError);
	expect(types.isNativeError(begun)).toBe(true);
	expect({ ...begun }).toEqual({ ...error, ran: "maybe" });
	expect([
		begun.message,
		begun.cause,
		begun.name,
		begun.stack,
		`${begun}`,
	]).toEqual([error.message, cause, error.name, error.stack, `${error}`]);
	expect(Object.keys(begun)).toEqual(Object.keys(error));

	const remote = {
		...{ type: "ValueError", message: "no", traceback: "", cause: undefined },
		...{ notes: [], frames: [] },
	};
	const failed = new ToolError({ ...common, remote });
	expect(asBegun(failed)).toMatchObject({ ran: "maybe", remote });
	const plain = new SnakepitError({
		code: "TOOL_FAILED",
		ran: "no",
		message: "no cause",
	});
	expect("cause" in asBegun(plain)).toBe(false);
});

test("an error that has it already is returned as it is", () => {
	const error = new WorkerLostError({
		code: "WORKER_HUNG",
		ran: "maybe",
		message: "hung",
	});
	expect(asBegun(error)).toBe(error);
});
