import { AsyncLocalStorage } from "node:async_hooks";
import { expect, test } from "vitest";
import type { HostFunction } from "../../src/index.ts";
import { startBench } from "../support/bench.ts";
import { call, failureOf } from "../support/calls.ts";

const withFunctions = (hostFunctions: Readonly<Record<string, HostFunction>>) =>
	startBench({ hostFunctions });

test.each(["ask", "ask_async"])(
	"%s gets what a function of the host returns",
	async (tool) => {
		const { connection } = await withFunctions({
			price: async ({ of }: { of: string }) => ({ of, cents: 5n }),
			nothing: () => {},
		});
		expect(await call(connection, tool, ["price", { of: "tea" }])).toEqual({
			of: "tea",
			cents: 5,
		});
		expect(await call(connection, tool, ["nothing"])).toBe(null);
	},
);

test("a function learns which call asks, in that call's asynchronous context", async () => {
	const store = new AsyncLocalStorage<string>();
	const { connection } = await withFunctions({
		whoAsks: (_, { callId }) => [callId, store.getStore()],
	});
	const ask = (callId: string) =>
		store.run(`context of ${callId}`, () =>
			call(connection, "ask", ["whoAsks"], { callId }),
		);
	expect(await ask("a")).toEqual(["a", "context of a"]);
	expect(await ask("b")).toEqual(["b", "context of b"]);
});

test("a function that throws fails the tool's call with code and message, and without its stack", async () => {
	const { connection } = await withFunctions({
		sell: () => {
			throw Object.assign(new Error("sold out"), { code: "SOLD_OUT" });
		},
		break: () => {
			throw new RangeError("too far");
		},
	});
	expect(await call(connection, "ask_and_catch", ["sell"])).toEqual([
		"SOLD_OUT",
		"sold out",
	]);
	expect(await call(connection, "ask_and_catch", ["break"])).toEqual([
		"RangeError",
		"too far",
	]);
	const error = await failureOf(call(connection, "ask", ["sell"]));
	expect(JSON.stringify(error)).not.toContain("host-functions.test");
});

test("what a function threw, which has its stack, is the cause of the error of the call that fails of it", async () => {
	const soldOut = new Error("sold out");
	const { connection } = await withFunctions({
		sell: () => {
			throw soldOut;
		},
	});
	const error = await failureOf(call(connection, "ask", ["sell"]));
	expect((error as Error).cause).toBe(soldOut);
	const other = await failureOf(call(connection, "ask", ["nothing"]));
	expect(other).toMatchObject({ cause: { code: "FUNCTION_NOT_FOUND" } });
});

test.each(["ask_many", "ask_in_threads"])(
	"at most 64 functions run at once for a call of %s, and all are answered",
	async (tool) => {
		let [asked, running, most] = [0, 0, 0];
		const waiting: (() => void)[] = [];
		const answerOne = () => waiting.shift()?.();
		const { connection } = await withFunctions({
			twice: async (number: number) => {
				most = Math.max(most, ++running);
				const answered = new Promise<void>((resolve) => {
					waiting.push(resolve);
				});
				// Until all have asked, one is answered when 64 run, so that one more can come.
				if (++asked === 300) for (const answer of waiting) answer();
				else if (running >= 64) setImmediate(answerOne);
				await answered;
				running--;
				return 2 * number;
			},
		});
		const numbers = Array.from({ length: 300 }, (_, index) => 2 * index);
		expect(await call(connection, tool, ["twice", 300])).toEqual(numbers);
		expect(most).toBe(64);
	},
);

test.each(["ask_many", "ask_in_threads"])(
	"a call of %s that is cancelled while its questions wait ends, and the next one is answered",
	async (tool) => {
		const abort = new AbortController();
		let running = 0;
		const { connection } = await withFunctions({
			never: () => {
				if (++running === 64) abort.abort();
				return new Promise(() => {});
			},
			now: () => 1,
		});
		const cancelled = call(connection, tool, ["never", 100], {
			signal: abort.signal,
		});
		expect(await failureOf(cancelled)).toMatchObject({
			code: "CALL_ABORTED",
		});
		expect(running).toBe(64);
		expect(await call(connection, "ask", ["now"])).toBe(1);
	},
);

test("a function that throws what cannot be read fails the tool's call, and nothing else", async () => {
	const unreadable = () =>
		new Proxy(new Error("hidden"), {
			get: () => {
				throw new Error("not to be read");
			},
		});
	const { connection } = await withFunctions({
		hides: () => {
			throw unreadable();
		},
		nothing: () => {
			throw Object.create(null);
		},
		floods: () => {
			throw Object.assign(new Error("x".repeat(9_000_000)), {
				code: "y".repeat(90_000_000),
			});
		},
		getter: () => ({
			get rows(): never {
				throw new Error("not loaded");
			},
		}),
	});
	const caught = async (name: string) =>
		(await call(connection, "ask_and_catch", [name])) as string[];
	const shown = "a value that cannot be shown";
	expect(await caught("hides")).toEqual(["Error", shown]);
	expect(await caught("nothing")).toEqual(["Error", shown]);
	expect((await caught("floods"))[0]).toBe("y".repeat(200));
	expect(await caught("getter")).toEqual([
		"VALUE_NOT_TRANSFERABLE",
		"its result: $.rows cannot be read: not loaded",
	]);
	expect(await failureOf(call(connection, "ask", ["hides"]))).toMatchObject({
		code: "TOOL_FAILED",
	});
	expect(await call(connection, "add", { a: 1 })).toBe(2);
});

test("a function that is not there fails the tool's call, with those that are", async () => {
	const { connection } = await withFunctions({ price: () => 1 });
	for (const name of ["prize", "constructor", "__proto__"]) {
		const [code, message] = (await call(connection, "ask_and_catch", [
			name,
		])) as string[];
		expect(code).toBe("FUNCTION_NOT_FOUND");
		expect(message).toContain("price");
	}
});

test("a result that cannot cross, or is too large, fails the tool's call", async () => {
	const { connection } = await startBench({
		maxMessageBytes: 1024 * 1024,
		hostFunctions: {
			self: () => ({ f: () => 1 }),
			large: () => new Uint8Array(2_000_000),
		},
	});
	const [code, message] = (await call(connection, "ask_and_catch", [
		"self",
	])) as string[];
	expect([code, message]).toEqual([
		"VALUE_NOT_TRANSFERABLE",
		expect.stringContaining("$.f is "),
	]);
	expect(await call(connection, "ask_and_catch", ["large"])).toEqual([
		"MESSAGE_TOO_LARGE",
		expect.any(String),
	]);
});

test("a function is notified when its call ends", async () => {
	const begun = Promise.withResolvers<AbortSignal>();
	const { connection } = await withFunctions({
		wait: (_, { signal }) => {
			begun.resolve(signal);
			return new Promise(() => {});
		},
	});
	const abort = new AbortController();
	const failure = failureOf(
		call(connection, "ask", ["wait"], { signal: abort.signal }),
	);
	const signal = await begun.promise;
	expect(signal.aborted).toBe(false);
	abort.abort();
	await failure;
	expect(signal.aborted).toBe(true);
	expect(await call(connection, "add", { a: 1 })).toBe(2);
});
