import { types } from "node:util";
import { expect, test } from "vitest";
import {
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
import { scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

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
	const { pool, clock, close } = await virtualPool({
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
	await close();
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
